#!/usr/bin/env python3
"""Writes the .npy files of this folder, golden.tsv and headers.tsv with numpy.

golden.tsv:  file, dtype, shape (x between dimensions), fortran, big-endian,
             spare bytes, elements as little-endian bytes in C order (hex).
headers.tsv: dtype, shape (1*N for N ones), SHA-256 of the header, header as a JSON string of
             Latin-1 characters ("" for long ones).
"""
import hashlib
import io
import json
import os
import struct
import warnings

import numpy as np
from numpy.lib import format as npf

os.chdir(os.path.dirname(os.path.abspath(__file__)))
warnings.simplefilter('ignore')

HOSTS = ['bool', 'int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64',
         'float16', 'float32', 'float64', 'complex64', 'complex128']
rows = []


def sample(dtype, shape):
    """Distinct bytes where possible, so that no swap or move goes unseen."""
    dtype = np.dtype(dtype)
    n = int(np.prod(shape, dtype=np.int64))
    if dtype == bool:
        return (np.arange(n) % 3 == 1).reshape(shape)
    raw = (np.arange(n * dtype.itemsize, dtype=np.int64) * 37 % 251 + 1).astype(np.uint8)
    return raw.view(dtype).reshape(shape)


def note(name, a, spare=0):
    little = a.astype(a.dtype.newbyteorder('<'))
    rows.append([name, a.dtype.newbyteorder('=').name, 'x'.join(map(str, a.shape)),
                 int(not a.flags.c_contiguous), int(a.dtype.str[0] == '>'), spare,
                 little.tobytes('C').hex()])


def save(name, a, version=None, spare=b''):
    with open(name, 'wb') as f:
        npf.write_array(f, a, version=version)
        f.write(spare)
    note(name, a, len(spare))


def by_hand(name, version, header, a, encoding='latin1'):
    text = header.encode(encoding)
    with open(name, 'wb') as f:
        f.write(npf.magic(*version))
        f.write(struct.pack('<H' if version == (1, 0) else '<I', len(text)))
        f.write(text)
        f.write(a.tobytes('A'))
    back = np.load(name)  # numpy reads it as meant
    assert back.tobytes() == a.tobytes() and back.shape == a.shape
    note(name, a)


for h in HOSTS:
    save(h + '.npy', sample(h, (2, 3)))
save('scalar.npy', sample('<f4', ()))
save('one.npy', sample('<i4', (1,)))
save('vector.npy', sample('<f8', (7,)))
save('empty.npy', sample('<f2', (0, 3)))
save('empty-fortran.npy', np.asfortranarray(sample('<f4', (2, 0, 3))))
save('deep.npy', sample('<i2', (1, 2, 1, 3, 2, 1)))
save('fortran.npy', np.asfortranarray(sample('<f4', (4, 3, 2))))
save('fortran-bool.npy', np.asfortranarray(sample('bool', (3, 5))))
save('fortran-complex128.npy', np.asfortranarray(sample('<c16', (2, 3, 2))))
save('big-int16.npy', sample('>i2', (2, 3)))
save('big-float32.npy', sample('>f4', (2, 3)))
save('big-uint64.npy', sample('>u8', (5,)))
save('big-complex64.npy', sample('>c8', (2, 2)))
save('big-complex128.npy', sample('>c16', (3,)))
save('big-scalar.npy', sample('>f8', ()))
save('big-fortran.npy', np.asfortranarray(sample('>u4', (3, 2, 5))))
save('version2.npy', sample('<f4', (2, 3)), version=(2, 0))
save('version3.npy', sample('<f4', (2, 3)), version=(3, 0))
save('spare.npy', sample('<u2', (4,)), spare=b'after')

by_hand('python2.npy', (1, 0), "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L), }   \n",
        sample('<f4', (2, 3)))

for name, a in {
    'other-structured': np.zeros(2, [('a', '<f4'), ('b', '<i2')]),
    'other-utf8-field': np.zeros(2, [('\u4e2d', '<f4')]),
    'other-object': np.array([None, 1], object),
    'other-string': np.array([b'ab', b'c']),
    'other-unicode': np.array(['ab', 'c']),
    'other-void': np.zeros(2, 'V3'),
    'other-byte': np.zeros(2, 'V1'),
    'other-datetime': np.zeros(2, 'M8[ns]'),
    'other-timedelta': np.zeros(2, 'm8[s]'),
    'other-longdouble': np.zeros(2, 'f16'),
    'other-clongdouble': np.zeros(2, 'c32'),
}.items():
    with open(name + '.npy', 'wb') as f:
        npf.write_array(f, a)

with open('golden.tsv', 'w') as f:
    for row in rows:
        f.write('\t'.join(map(str, row)) + '\n')

SHAPES = [(), (0,), (3,), (0, 3), (10,), (128, 3, 32, 32), (1,) * 32, (999999999999, 0),
          (1, 2, 3, 4, 5, 6)] + [(1,) * n for n in range(2, 31)]
with open('headers.tsv', 'w') as f:
    for h in HOSTS:
        for shape in SHAPES:
            out = io.BytesIO()
            npf._write_array_header(
                out, {'descr': np.dtype(h).str, 'fortran_order': False, 'shape': shape})
            header = out.getvalue()
            if h != 'float16' and len(shape) > 4:
                continue
            shown = header.decode('latin1') if len(header) < 1000 else ''
            dims = 'x'.join(map(str, shape)) if len(shape) < 2 or set(shape) != {1} else '1*%d' % len(shape)
            f.write('\t'.join([h, dims, hashlib.sha256(header).hexdigest(),
                               json.dumps(shown)]) + '\n')
