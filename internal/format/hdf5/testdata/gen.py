#!/usr/bin/env python3
"""Writes the files of this folder with h5py: datasets of which only a part, or nothing, was written."""
import os

import h5py
import numpy as np

os.chdir(os.path.dirname(os.path.abspath(__file__)))

for name, libver in ('unwritten.h5', 'earliest'), ('unwritten_latest.h5', 'latest'):
    with h5py.File(name, 'w', libver=libver) as f:
        f.create_dataset('full', data=np.ones((3, 4), 'f4'))
        f.create_dataset('full_chunks', data=np.ones((5, 7), 'f4'), chunks=(2, 3))
        f.create_dataset('none', (3, 4), 'f4', fillvalue=7.5)
        f.create_dataset('none_chunks', (6,), 'c8', chunks=(2,))
        f.create_dataset('empty', (0, 4), 'f4')
        f.create_dataset('fixed', (10, 10), '>f2', chunks=(4, 4), fillvalue=-2)[:5, :3] = 1
        f.create_dataset('grows', (10, 10), 'i8', chunks=(4, 4), maxshape=(None, 10), fillvalue=3)[:5, :3] = 1
        f.create_dataset('tree', (10, 10), 'f8', chunks=(4, 4), maxshape=(None, None), compression='gzip')[8:, 8:] = 1
