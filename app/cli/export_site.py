"""``poolscope export-site``: the stored views as pages for a static host or a USB stick."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from app.cli.export_files import unwritable
from app.cli.progress import terminal_progress
from components.errors import DataError

MOST_BYTES = 40_000_000
MARK = "assets/page.js"
"""What an earlier site holds, which a new one may replace."""


def export_site(
    out: Annotated[Path, typer.Option(help="Folder to write: new, empty, or an earlier site.")],
    compute: Annotated[bool, typer.Option("--compute", help="Compute what is not stored yet, such as pairs' tokens.")] = False,
) -> None:
    """Write the gallery's views as static pages with an index; they need no server and no network."""
    if out.exists() and (not out.is_dir() or (any(out.iterdir()) and not (out / MARK).is_file())):
        raise DataError("--out", "must be a new or empty folder, or an earlier site", f"{str(out)!r} holds something else",
                        "name another folder")
    from app.exports import site

    with terminal_progress() as progress:
        pages, missing = site.site_pages(progress if compute else None)
    files = site.assets()
    for page in pages:
        files[page.file] = page.make()
        typer.echo(f"{page.file}: {len(files[page.file].encode()) / 1e3:,.0f} kB", err=True)
    sizes = {name: len(text.encode()) for name, text in files.items()}
    files[site.INDEX] = site.index(pages, sizes, missing)
    total = sum(sizes.values()) + len(files[site.INDEX].encode())
    if total > MOST_BYTES:
        raise DataError("the site", f"must stay below {MOST_BYTES / 1e6:g} MB", f"{total / 1e6:.1f} MB", "offer fewer models")
    _write(out, files)
    if missing:
        typer.echo(f"note: {len(missing)} pages are left out, since nothing is stored for them (--compute makes them): "
                   f"{'; '.join(missing)}", err=True)
    typer.echo(f"{out}: {len(files)} files, {total / 1e6:.1f} MB; open {site.INDEX}.", err=True)


def _write(out: Path, files: dict[str, str]) -> None:
    """All files, or the folder as it was: written beside it and moved into its place."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=out.parent, prefix=".poolscope-"))
    except OSError as error:
        raise unwritable(out, error) from error
    try:
        for name, text in files.items():
            (made / name).parent.mkdir(exist_ok=True)
            (made / name).write_text(text, encoding="utf-8", newline="\n")
        made.chmod(0o755)
        if out.exists():
            shutil.rmtree(out)
        made.rename(out)
    except OSError as error:
        raise unwritable(out, error) from error
    finally:
        shutil.rmtree(made, ignore_errors=True)
