"""Endpoints of the specification that no surface has yet, in its order. The list may only shrink."""

NOT_BUILT_YET: tuple[str, ...] = ()
