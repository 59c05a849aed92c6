"""Every error of the service: one exception, and one table per surface with the response for each code (errors.toml).

Many codes are in more than one table, most with different statuses, so each surface looks the code up. Rows keep the
specification's order. Each surface writes its errors into responses itself.
"""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple

from msgspec import Meta, Struct, toml
from msgspec.structs import replace

GatewayDecision = Literal["allow", "challenge", "block"]
Status = Annotated[int, Meta(ge=200, le=599)]


class Refused(Exception):  # noqa: N818 - it is an answer, not a fault; "Error" would say otherwise
    """A request is rejected. The surface's table has the status and the default message; `extra` adds fields to the
    body."""

    def __init__(
        self, code: str, message: str | None = None, *, headers: Mapping[str, str] | None = None, **extra: Any
    ) -> None:
        # A further field of this name would overwrite the code that clients branch on.
        if "error" in extra:
            raise ValueError("the field `error` holds the code; give the further field another name")
        super().__init__(code)
        self._code = code
        self._message = message
        self._headers = MappingProxyType(dict(headers or {}))
        self._extra = MappingProxyType(extra)

    @property
    def code(self) -> str:
        return self._code

    @property
    def message(self) -> str | None:
        """What to tell people instead of the table's message, or None."""
        return self._message

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers of the response besides the headers of the table."""
        return self._headers

    @property
    def extra(self) -> Mapping[str, Any]:
        """Further fields of the body, such as `decisionId`."""
        return self._extra


class GatewayAnswer(NamedTuple):
    """One of the gateway's responses for a reason."""

    decision: GatewayDecision
    status: Status


class ErrorRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The response for one code. `added` marks a code that is not in the specification.

    The gateway's rows have `answers` instead of a message, because the gateway sends none; their `status` is the status
    of the first.
    """

    code: str = ""
    status: Status = 0
    message: str = ""
    retry_after_s: Annotated[int, Meta(ge=1)] | None = None
    added: bool = False
    answers: tuple[GatewayAnswer, ...] = ()

    def __post_init__(self) -> None:
        if not (self.answers or (self.status and self.message.endswith("."))):
            raise ValueError("a row needs a status and a sentence, or a status for each decision")

    def status_for(self, decision: GatewayDecision) -> int:
        """Return the status that goes with a gateway decision; a pair the row does not have is a bug (LookupError)."""
        for answer in self.answers:
            if answer.decision == decision:
                return answer.status
        raise LookupError(f"the reason {self.code} never comes with the decision {decision}")


class ErrorTable(Struct, frozen=True):
    """The codes of one surface, in the specification's order."""

    name: str
    rows: Mapping[str, ErrorRow]

    def lookup(self, code: str) -> ErrorRow:
        """Return the row of a code. A missing one is a bug (LookupError), never a response."""
        row = self.rows.get(code)
        if row is None:
            raise LookupError(f"the {self.name} table has no code {code}")
        return row

    def __contains__(self, code: object) -> bool:
        return code in self.rows


def read_tables(text: str) -> dict[str, ErrorTable]:
    """Return the tables of the surfaces by name."""
    return {
        name: ErrorTable(
            name,
            MappingProxyType(
                {
                    code: replace(row, code=code, status=row.status or row.answers[0].status)
                    for code, row in rows.items()
                }
            ),
        )
        for name, rows in toml.decode(text, type=dict[str, dict[str, ErrorRow]]).items()
    }


_TABLES = read_tables(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
BROWSER, SITEVERIFY, RECEIPTS = _TABLES["browser"], _TABLES["siteverify"], _TABLES["receipts"]
CONTENT, BLOCK_FEED, COMPAT = _TABLES["content"], _TABLES["block_feed"], _TABLES["compat"]
GATEWAY, CONSOLE, AGENTS = _TABLES["gateway"], _TABLES["console"], _TABLES["agents"]
TABLES = tuple(_TABLES.values())


class CrawlerError(StrEnum):
    """The problem with a price offer, as in the `crawler-error` header."""

    MISSING_CRAWLER_PRICE = "MissingCrawlerPrice"
    INVALID_CRAWLER_EXACT_PRICE = "InvalidCrawlerExactPrice"
    INVALID_CRAWLER_MAX_PRICE = "InvalidCrawlerMaxPrice"
    INVALID_CRAWLER_PRICE_VALUE = "InvalidCrawlerPriceValue"
    CONFLICTING_PRICE_HEADERS = "ConflictingPriceHeaders"
    STRONG_AUTH_REQUIRED = "StrongAuthRequired"


CRAWLER_ERROR_STATUSES: Mapping[CrawlerError, tuple[int, ...]] = MappingProxyType(
    {
        CrawlerError.MISSING_CRAWLER_PRICE: (402,),
        CrawlerError.INVALID_CRAWLER_EXACT_PRICE: (402,),
        CrawlerError.INVALID_CRAWLER_MAX_PRICE: (402,),
        CrawlerError.INVALID_CRAWLER_PRICE_VALUE: (400,),
        CrawlerError.CONFLICTING_PRICE_HEADERS: (400,),
        CrawlerError.STRONG_AUTH_REQUIRED: (400, 402),
    }
)
