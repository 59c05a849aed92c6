# cython: language_level=3, boundscheck=False, wraparound=False
"""`cut` and `lines` of head.py, compiled: one pass over the bytes of a head."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint64_t
from libc.string cimport memchr, memcmp, memcpy, memset

from agentgate.http.connection import head_names

cdef extern from *:
    const char* AGENTGATE_BUILD

# Of the sources that this module was built from.
BUILD = AGENTGATE_BUILD.decode()

cdef enum:
    MOST_NAMES = 40
    LONGEST_NAME = 31
    KEPT = 100

# Names in lower case, the shortest first, and what is done with the value: its place among those given, or KEPT. The
# names of a length are from STARTS[length] to STARTS[length + 1].
cdef char NAMES[MOST_NAMES][LONGEST_NAME + 1]
cdef int USES[MOST_NAMES]
cdef int STARTS[LONGEST_NAME + 2]
# Bytes of names in lower case; 0 for all others.
cdef unsigned char LOWER[256]

cdef uint64_t ONES = 0x0101010101010101
cdef uint64_t SPACES = ONES * 0x20
cdef uint64_t HIGH_BITS = ONES * 0x80

_uses = {**{_name: _place for _place, _name in enumerate(head_names.GIVEN)}, **dict.fromkeys(head_names.KEPT, KEPT)}
_names = sorted(_uses, key=len)
assert len(_names) <= MOST_NAMES and max(map(len, _names)) <= LONGEST_NAME
assert GIVEN_COUNT == len(head_names.GIVEN) and LONGEST == head_names.LONGEST_HEAD
for _place, _name in enumerate(_names):
    memcpy(NAMES[_place], PyBytes_AS_STRING(_name), PyBytes_GET_SIZE(_name))
    USES[_place] = _uses[_name]
for _length in range(LONGEST_NAME + 2):
    STARTS[_length] = sum(len(_name) < _length for _name in _names)
for _byte in range(128):
    # Of the bytes in a name only letters change: a digit and a hyphen have that bit already.
    LOWER[_byte] = _byte | 0x20 if chr(_byte).isalnum() or _byte == 45 else 0


cdef inline int use_of(const unsigned char* name, Py_ssize_t length) noexcept nogil:
    """Return what is done with the value of a header; -1 for nothing."""
    cdef int number
    cdef Py_ssize_t at
    if length > LONGEST_NAME:
        return -1
    for number in range(STARTS[length], STARTS[length + 1]):
        at = 0
        while at < length and <unsigned char>NAMES[number][at] == LOWER[name[at]]:
            at += 1
        if at == length:
            return USES[number]
    return -1


cdef inline bint is_printable(const unsigned char* text, Py_ssize_t length) noexcept nogil:
    """Return whether all bytes are printable ASCII. Eight bytes are looked at together.

    Of a printable byte, neither itself, nor one more, nor 0x20 less has the high bit. Of the first other byte, one does.
    """
    cdef uint64_t eight
    cdef Py_ssize_t at = 0
    while at + 8 <= length:
        memcpy(&eight, text + at, 8)
        if (eight | (eight + ONES) | (eight - SPACES)) & HIGH_BITS:
            return False
        at += 8
    while at < length:
        if text[at] < 0x20 or text[at] >= 0x7F:
            return False
        at += 1
    return True


cdef bint scan(const unsigned char* text, Py_ssize_t size, Scan* found) noexcept nogil:
    """Find the key of a head and the values that are given; return whether it is one whole plain head."""
    cdef Py_ssize_t at, end, colon, filled
    cdef const unsigned char* place
    cdef unsigned char* key = found.key
    cdef int use
    memset(found.given, 0, sizeof(found.given))
    if size > LONGEST or size < 18 or text[size - 1] != 10 or text[size - 2] != 13 or text[size - 3] != 10 or text[size - 4] != 13:
        return False
    # The request line: GET or POST, one target that begins with a slash, HTTP/1.1.
    place = <const unsigned char*>memchr(text, 13, size)
    end = place - text
    if end < 14 or memcmp(text + end - 9, b" HTTP/1.1", 9) != 0 or text[end + 1] != 10:
        return False
    if memcmp(text, b"GET /", 5) != 0 and memcmp(text, b"POST /", 6) != 0:
        return False
    at = 4 if text[0] == 71 else 5
    if not is_printable(text + at, end - 9 - at) or memchr(text + at, 32, end - 9 - at) != NULL:
        return False
    memcpy(key, text, end)
    filled = end
    at = end + 2
    while at < size - 2:
        place = <const unsigned char*>memchr(text + at, 13, size - at)
        end = place - text
        if text[end + 1] != 10:
            return False
        colon = at
        while colon < end and LOWER[text[colon]]:
            colon += 1
        # A name, a colon, one space, and a value that neither begins nor ends with a space.
        if colon == at or colon + 2 >= end or text[colon] != 58 or text[colon + 1] != 32 or text[colon + 2] == 32 or text[end - 1] == 32:
            return False
        if not is_printable(text + colon + 2, end - colon - 2):
            return False
        use = use_of(text + at, colon - at)
        # With the line end before it. The key is never longer than the head.
        if use == KEPT:
            memcpy(key + filled, text + at - 2, end - at + 2)
            filled += end - at + 2
        else:
            memcpy(key + filled, text + at - 2, colon - at + 2)
            filled += colon - at + 2
            if use >= 0:
                if found.given[use].start != NULL:
                    return False
                found.given[use].start = text + colon + 2
                found.given[use].length = end - colon - 2
        at = end + 2
    found.key_length = filled
    return True


def cut(bytes data not None):
    """Return the key of a head and the values that are given; None where it is not one whole plain head."""
    cdef Scan found
    cdef int place
    cdef list given
    if not scan(<const unsigned char*>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data), &found):
        return None
    given = [None] * GIVEN_COUNT
    for place in range(GIVEN_COUNT):
        if found.given[place].start != NULL:
            given[place] = PyBytes_FromStringAndSize(<const char*>found.given[place].start, found.given[place].length)
    return (PyBytes_FromStringAndSize(<const char*>found.key, found.key_length), *given)


def lines(bytes data not None):
    """Return names and values of the headers of a head that `cut` took."""
    cdef const unsigned char* text = <const unsigned char*>PyBytes_AS_STRING(data)
    cdef Py_ssize_t size = PyBytes_GET_SIZE(data)
    cdef Py_ssize_t at, end, colon
    cdef list names = [], values = []
    at = <const unsigned char*>memchr(text, 13, size) - text + 2
    while at < size - 2:
        end = <const unsigned char*>memchr(text + at, 13, size - at) - text
        colon = <const unsigned char*>memchr(text + at, 58, end - at) - text
        names.append(PyBytes_FromStringAndSize(<const char*>text + at, colon - at))
        values.append(PyBytes_FromStringAndSize(<const char*>text + colon + 2, end - colon - 2))
        at = end + 2
    return tuple(names), values
