# SPDX-License-Identifier: BSD-2-Clause
"""LMDB by its C library: what another program keeps in such a database, and changes to that."""
import contextlib
import ctypes
import os

RDONLY = 0x20000
NOTFOUND = -30798
FIRST, NEXT = 0, 8


class Val(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("data", ctypes.c_void_p)]

    @staticmethod
    def of(data):
        val = Val(len(data), ctypes.cast(ctypes.create_string_buffer(data, len(data)), ctypes.c_void_p))
        val.keep = data
        return val

    def bytes(self):
        return ctypes.string_at(self.data, self.size)


def library():
    lib = ctypes.CDLL("liblmdb.so.0")
    lib.mdb_strerror.restype = ctypes.c_char_p
    return lib


def check(lib, code):
    if code != 0:
        raise OSError(lib.mdb_strerror(code).decode())


@contextlib.contextmanager
def transaction(folder, write=False, name=None):
    """(library, transaction, handle of a database, by its name or the unnamed one) of the environment in a folder."""
    lib = library()
    env, txn, dbi = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint()
    check(lib, lib.mdb_env_create(ctypes.byref(env)))
    try:
        lib.mdb_env_set_mapsize(env, ctypes.c_size_t(1 << 30))
        check(lib, lib.mdb_env_set_maxdbs(env, 1))
        check(lib, lib.mdb_env_open(env, os.fsencode(folder), 0 if write else RDONLY, 0o660))
        check(lib, lib.mdb_txn_begin(env, None, 0 if write else RDONLY, ctypes.byref(txn)))
        check(lib, lib.mdb_dbi_open(txn, name and name.encode(), 0, ctypes.byref(dbi)))
        yield lib, txn, dbi
        check(lib, lib.mdb_txn_commit(txn))
    finally:
        lib.mdb_env_close(env)


def read(folder, name=None):
    """All keys and values."""
    found = {}
    with transaction(folder, name=name) as (lib, txn, dbi):
        cursor, key, value = ctypes.c_void_p(), Val(), Val()
        check(lib, lib.mdb_cursor_open(txn, dbi, ctypes.byref(cursor)))
        code = lib.mdb_cursor_get(cursor, ctypes.byref(key), ctypes.byref(value), FIRST)
        while code == 0:
            found[key.bytes()] = value.bytes()
            code = lib.mdb_cursor_get(cursor, ctypes.byref(key), ctypes.byref(value), NEXT)
        lib.mdb_cursor_close(cursor)
        if code != NOTFOUND:
            check(lib, code)
    return found


def change(folder, values):
    """Set values; None removes the key."""
    with transaction(folder, write=True) as (lib, txn, dbi):
        for key, value in values.items():
            key = Val.of(key)
            if value is None:
                check(lib, lib.mdb_del(txn, dbi, ctypes.byref(key), None))
            else:
                value = Val.of(value)
                check(lib, lib.mdb_put(txn, dbi, ctypes.byref(key), ctypes.byref(value), 0))
