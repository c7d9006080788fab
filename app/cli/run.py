"""``python -m app.cli.run``: the command without its installed script."""

from app.cli import main

if __name__ == "__main__":
    main()
