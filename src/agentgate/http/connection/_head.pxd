"""The cut of a head for other compiled modules: where its values are, without any object."""

cdef enum:
    LONGEST = 4096
    GIVEN_COUNT = 10

# A part of the head that is being read.
cdef struct Span:
    const unsigned char* start
    Py_ssize_t length

# The key of a head, and the values that are given; `start` is NULL where a header did not come.
cdef struct Scan:
    Py_ssize_t key_length
    Span given[GIVEN_COUNT]
    unsigned char key[LONGEST]

cdef bint scan(const unsigned char* text, Py_ssize_t size, Scan* found) noexcept nogil
