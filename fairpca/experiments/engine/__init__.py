"""What runs, stores, resumes and judges experiments; knows no paper by name."""
