#!/usr/bin/env python3
"""Writes the files of this folder with h5py, numpy and PyTorch (Debian's python3-h5py, python3-numpy, python3-torch)."""
import os

import h5py
import numpy as np
import torch

os.chdir(os.path.dirname(os.path.abspath(__file__)))
values = np.arange(12, dtype='f4').reshape(3, 4)
records = np.array([(1, 2.5), (3, 4.5)], dtype=[('step', 'i4'), ('loss', 'f4')])

# Numbers beside texts and records.
with h5py.File('texts.h5', 'w') as f:
    f['values'] = values
    f['model'] = 'resnet'
    f['names'] = np.array([b'conv1', b'fc'])
    f['records'] = records
    f['time'] = np.array(['2026-01-01'], dtype='M8[D]').astype(h5py.opaque_dtype('M8[D]'))
np.savez('texts.npz', values=values, model=np.array('resnet'), names=np.array([b'conv1', b'fc']), records=records,
         time=np.array(['2026-01-01'], dtype='M8[D]'))

# Filters of h5py that other writers lack, beside a plain dataset.
with h5py.File('filters.h5', 'w') as f:
    f['plain'] = values
    f.create_dataset('lzf', data=values, compression='lzf')
    f.create_dataset('scaleoffset', data=values, scaleoffset=2)

# The form of torch.save before PyTorch 1.6, pickled by protocol 1.
torch.save({'values': torch.from_numpy(values)}, 'protocol1.pt', pickle_protocol=1, _use_new_zipfile_serialization=False)
