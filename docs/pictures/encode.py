"""Turns screenshots and terminal output into pictures that are small enough to commit.

usage: encode.py SHOTS TERMINAL INTO     SHOTS holds *.png and zoom/*.png, TERMINAL is output with colors
"""
import sys
from pathlib import Path

from PIL import Image
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

MOST_BYTES = 400_000
MOST_ZOOM_BYTES = 3_000_000
ZOOM_WIDTH = 800
FRAME_MS = 180
LAST_FRAME_MS = 2500
TERMINAL_COLUMNS = 100
TERMINAL_LINES = 48

DARK = TerminalTheme(
    (17, 20, 26), (220, 224, 232),
    [(42, 46, 56), (240, 98, 98), (106, 190, 120), (226, 178, 86), (98, 158, 240), (190, 130, 230), (86, 190, 200), (220, 224, 232)],
    [(120, 128, 142), (255, 130, 130), (140, 214, 150), (246, 206, 120), (132, 182, 255), (212, 164, 246), (120, 214, 222), (255, 255, 255)],
)
# The format of rich without its web font: a picture asks for nothing from the network.
SVG = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img" aria-label="Output of stepscope demo-run, a simulated job">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: {char_height}px; line-height: {line_height}px; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>{lines}</defs>
<rect width="{width}" height="{height}" rx="10" fill="#11141a"/>
<g transform="translate({terminal_x}, 20)" clip-path="url(#{unique_id}-clip-terminal)">{backgrounds}<g class="{unique_id}-matrix">{matrix}</g></g>
</svg>
"""


def main(shots: Path, terminal: Path, into: Path) -> None:
    into.mkdir(parents=True, exist_ok=True)
    for shot in sorted(shots.glob("*.png")):
        save_page(shot, into / f"{shot.stem}.webp")
    save_zoom(sorted((shots / "zoom").glob("*.png")), into / "timeline.webp")
    save_terminal(terminal.read_text(encoding="utf-8"), into / "terminal.svg")
    for picture in sorted(into.glob("*.*")):
        if picture.suffix in (".webp", ".svg"):
            print(f"{picture.name}: {picture.stat().st_size / 1000:.0f} kB")


def save_page(shot: Path, into: Path) -> None:
    """256 colors are enough for a page of text and bars."""
    few_colors = Image.open(shot).convert("RGB").quantize(256, dither=Image.Dither.NONE).convert("RGB")
    few_colors.save(into, lossless=True, method=6)
    check_size(into, MOST_BYTES)


def save_zoom(frames: list[Path], into: Path) -> None:
    if not frames:
        sys.exit("error: found no frames of the zoom")
    first = Image.open(frames[0])
    size = (ZOOM_WIDTH, round(first.height * ZOOM_WIDTH / first.width))
    pictures = [Image.open(frame).convert("RGB").resize(size, Image.Resampling.LANCZOS) for frame in frames]
    # Few colors, the same in all frames: what does not move costs nothing.
    sheet = Image.new("RGB", (size[0], size[1] * len(pictures)))
    for place, picture in enumerate(pictures):
        sheet.paste(picture, (0, place * size[1]))
    palette = sheet.quantize(128, kmeans=2, dither=Image.Dither.NONE)
    pictures = [picture.quantize(palette=palette, dither=Image.Dither.NONE).convert("RGB") for picture in pictures]
    durations = [FRAME_MS] * (len(pictures) - 1) + [LAST_FRAME_MS]
    pictures[0].save(into, save_all=True, append_images=pictures[1:], duration=durations, loop=0, lossless=True, method=6)
    check_size(into, MOST_ZOOM_BYTES)


def save_terminal(output: str, into: Path) -> None:
    console = Console(record=True, width=TERMINAL_COLUMNS, file=open("/dev/null", "w", encoding="utf-8"))
    # The log begins and ends with a line of its own.
    lines = ["$ stepscope demo-run", *output.splitlines()[1:-1][:TERMINAL_LINES]]
    console.print(Text.from_ansi("\n".join(lines)))
    svg = console.export_svg(theme=DARK, code_format=SVG, unique_id="terminal")
    into.write_text(svg, encoding="utf-8")
    check_size(into, MOST_BYTES)


def check_size(picture: Path, most_bytes: int) -> None:
    if (size := picture.stat().st_size) > most_bytes:
        sys.exit(f"error: {picture.name} has {size} bytes, expected at most {most_bytes}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
