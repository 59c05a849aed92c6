"""Charts in HTML figure elements with inline SVG: curves and bars, with text alternatives. Pages set the colors."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from agentgate.lib.markup import Markup, element, joined

WIDTH, HEIGHT = 520, 340
LEFT, RIGHT, TOP, BOTTOM = 66, 16, 34, 48
TICKS = 4
BAR_GAP = 0.15

Point = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Frame:
    """A chart's title, its text alternative, and its axes; both begin at 0."""

    name: str
    title: str
    description: str
    across: str
    up: str
    # The upper end of the axis that goes up.
    highest: float = 1.0
    # Whether that axis is labeled in percent.
    percent: bool = False


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A line with its name; `style` is a class of the page's style."""

    name: str
    style: str
    points: Sequence[Point]
    # One for each point, or none: how large the dot on it is, from 0 to 1.
    dots: Sequence[float] = ()


@dataclass(frozen=True, kw_only=True)
class Bars:
    """One value for each of the equal parts of the axis from 0 to 1."""

    name: str
    style: str
    values: Sequence[float]


def curves(frame: Frame, *drawn: Curve) -> Markup:
    """Draw lines over 0 to 1."""
    parts = [_curve(frame, curve) for curve in drawn]
    return _chart(frame, [(curve.name, curve.style) for curve in drawn], parts)


def bars(frame: Frame, *drawn: Bars) -> Markup:
    """Draw bars side by side over 0 to 1."""
    parts = []
    for place, series in enumerate(drawn):
        step = 1 / len(series.values)
        wide = step * (1 - BAR_GAP) / len(drawn)
        for number, value in enumerate(series.values):
            start = number * step + step * BAR_GAP / 2 + place * wide
            parts.append(_bar(frame, series.style, start, wide=wide, value=value))
    return _chart(frame, [(series.name, series.style) for series in drawn], parts)


def round_up(value: float) -> float:
    """Return the next number at or above it that makes a good end of an axis."""
    if value <= 0:
        return 1.0
    size = 10.0 ** floor(log10(value))
    return next(step * size for step in (1, 2, 4, 5, 8, 10) if step * size >= value * 0.999)


def _chart(frame: Frame, legend: Sequence[tuple[str, str]], parts: Sequence[Markup]) -> Markup:
    title, description = f"{frame.name}-title", f"{frame.name}-description"
    drawing = element(
        "svg",
        element("title", frame.title, id=title),
        element("desc", frame.description, id=description),
        _axes(frame),
        joined(parts),
        _legend(legend),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_labelledby=f"{title} {description}",
    )
    return element("figure", element("figcaption", frame.title), drawing)


def _axes(frame: Frame) -> Markup:
    lines = []
    for number in range(TICKS + 1):
        share = number / TICKS
        x, y = _x(share), _y(frame, share * frame.highest)
        lines += [
            _line((x, _y(frame, 0)), (x, _y(frame, frame.highest)), "grid"),
            _line((_x(0), y), (_x(1), y), "grid"),
            _text(x, _y(frame, 0) + 18, f"{share:g}", anchor="middle"),
            _text(_x(0) - 8, y + 4, _tick(frame, share * frame.highest), anchor="end"),
        ]
    middle = (_y(frame, 0) + _y(frame, frame.highest)) / 2
    turned = f"rotate(-90 14 {_number(middle)})"
    return joined(
        [
            *lines,
            _line((_x(0), _y(frame, 0)), (_x(1), _y(frame, 0)), "axis"),
            _line((_x(0), _y(frame, 0)), (_x(0), _y(frame, frame.highest)), "axis"),
            _text((_x(0) + _x(1)) / 2, HEIGHT - 8, frame.across, anchor="middle"),
            _text(14, middle, frame.up, anchor="middle", transform=turned),
        ]
    )


def _tick(frame: Frame, value: float) -> str:
    return f"{value * 100:g} %" if frame.percent else f"{value:g}"


def _legend(entries: Sequence[tuple[str, str]]) -> Markup:
    parts, x = [], float(LEFT)
    for name, style in entries:
        parts.append(element("rect", x=_number(x), y="10", width="12", height="12", rx="2", class_=f"swatch {style}"))
        parts.append(_text(x + 18, 20, name, anchor="start"))
        # The width of text is not known here; this is enough for the page's font.
        x += 18 + 7.2 * len(name) + 18
    return joined(parts)


def _curve(frame: Frame, curve: Curve) -> Markup:
    places = [(_x(across), _y(frame, up)) for across, up in curve.points]
    path = " ".join(f"{_number(x)},{_number(y)}" for x, y in places)
    marks = [
        element("circle", cx=_number(x), cy=_number(y), r=_number(3 + 6 * size), class_=f"mark {curve.style}")
        for (x, y), size in zip(places, curve.dots, strict=bool(curve.dots))
    ]
    return joined([element("polyline", points=path, class_=f"curve {curve.style}"), *marks])


def _bar(frame: Frame, style: str, start: float, *, wide: float, value: float) -> Markup:
    top = _y(frame, value)
    return element(
        "rect",
        x=_number(_x(start)),
        y=_number(top),
        width=_number(_x(start + wide) - _x(start)),
        height=_number(_y(frame, 0) - top),
        class_=f"bar {style}",
    )


def _line(start: Point, end: Point, style: str) -> Markup:
    (x1, y1), (x2, y2) = start, end
    return element("line", x1=_number(x1), y1=_number(y1), x2=_number(x2), y2=_number(y2), class_=style)


def _text(x: float, y: float, text: str, *, anchor: str, transform: str | None = None) -> Markup:
    return element("text", text, x=_number(x), y=_number(y), text_anchor=anchor, transform=transform)


def _x(share: float) -> float:
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def _y(frame: Frame, value: float) -> float:
    return HEIGHT - BOTTOM - value / frame.highest * (HEIGHT - TOP - BOTTOM)


def _number(value: float) -> str:
    return f"{ceil(value * 10 - 0.5) / 10:g}"
