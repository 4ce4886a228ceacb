"""The names of the backends that the launcher knows."""

LOCALHOST = "localhost"
STANDALONE = "standalone"
STANDALONE_BACKENDS = ("vm", "aws_ec2")
