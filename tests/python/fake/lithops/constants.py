"""The names that the launcher knows backends by."""

LOCALHOST = "localhost"
STANDALONE = "standalone"
STANDALONE_BACKENDS = ("vm", "aws_ec2")
