"""Maximum mean discrepancy of projected groups: exact, and stated approximations."""
