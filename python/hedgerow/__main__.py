"""`python -m hedgerow`: the command line."""

from hedgerow._command_line import main

main()
