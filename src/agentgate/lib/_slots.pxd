"""Slots of Python objects, read and written in place instead of through a lookup by name.

A slot is a pointer at a fixed place of each object of a class and its subclasses. Each access checks the class first.
"""

from cpython.object cimport PyObject, PyTypeObject, PyObject_TypeCheck
from cpython.ref cimport Py_INCREF, Py_XDECREF

cdef extern from *:
    """
    #include <structmember.h>

    static Py_ssize_t agentgate_offset(PyObject *found) {
        PyMemberDef *member;
        if (!Py_IS_TYPE(found, &PyMemberDescr_Type)) {
            return -1;
        }
        member = ((PyMemberDescrObject *)found)->d_member;
        return member->type == T_OBJECT_EX ? member->offset : -1;
    }
    """
    Py_ssize_t agentgate_offset(object found)

cdef struct Slot:
    PyTypeObject* owners
    Py_ssize_t offset


cdef inline Slot slot_of(object owners, str name) except *:
    """Return the place of a slot of a class. Without such a slot the module cannot be imported, and Python serves."""
    cdef Slot slot
    slot.offset = agentgate_offset(getattr(owners, name, None))
    if not isinstance(owners, type) or slot.offset < 0:
        raise ImportError(f"{owners.__name__}.{name} is no slot")
    # The class lives as long as the process.
    Py_INCREF(owners)
    slot.owners = <PyTypeObject*>owners
    return slot


cdef inline PyObject** place_of(object owner, Slot slot) except NULL:
    if not PyObject_TypeCheck(owner, slot.owners):
        raise TypeError(f"{type(owner).__name__} has no such slot")
    return <PyObject**>(<char*><PyObject*>owner + slot.offset)


cdef inline object get(object owner, Slot slot):
    """Return the value of a slot."""
    cdef PyObject* found = place_of(owner, slot)[0]
    if found == NULL:
        raise AttributeError("the slot has no value")
    return <object>found


cdef inline int put(object owner, Slot slot, object value) except -1:
    """Replace the value of a slot."""
    cdef PyObject** place = place_of(owner, slot)
    cdef PyObject* before = place[0]
    Py_INCREF(value)
    place[0] = <PyObject*>value
    Py_XDECREF(before)
    return 0
