//go:build h5py

package main

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// sameDatasets compares the datasets of two files with h5py: elements, types, shapes and
// attributes.
const sameDatasets = `
import sys, h5py, numpy
made, source = h5py.File(sys.argv[1], 'r'), h5py.File(sys.argv[2], 'r')
names = []
made.visititems(lambda name, x: names.append(name) if isinstance(x, h5py.Dataset) else None)
assert names, 'no dataset'
for name in names:
    a, b = made[name], source[name]
    assert a.shape == b.shape and a.dtype == b.dtype, name
    x, y = numpy.asarray(a[()]), numpy.asarray(b[()])
    assert x.tobytes() == y.tobytes(), name
    for key, value in a.attrs.items():
        assert numpy.array_equal(value, b.attrs[key]), (name, key)
    numbers = [key for key in b.attrs if numpy.asarray(b.attrs[key]).dtype.kind in 'iufb']
    assert all(key in a.attrs for key in numbers), name
print(len(names))
`

// mostlyAttributes makes a file with nearly only float64 attributes, in object headers or, as later
// releases of the library do, in a heap, which has only small ones.
const mostlyAttributes = `
import sys, h5py, numpy
with h5py.File(sys.argv[1], 'w', libver=sys.argv[2]) as f:
    for name in 'x', 'y':
        d = f.create_dataset(name, data=numpy.arange(4, dtype='f4'))
        for k in range(100):
            d.attrs['a%d' % k] = numpy.random.default_rng(k).normal(size=int(sys.argv[3]))
`

// TestHDF5ByOthers reads output of convert -t h5 with h5py and h5dump.
func TestHDF5ByOthers(t *testing.T) {
	t.Parallel()
	read, dir := 0, t.TempDir()
	var sources []string
	for _, name := range []string{"npu", "gpu", "types", "storage_latest", "attrs", "userblock"} {
		sources = append(sources, filepath.Join(inputsRoot, "h5", name+".h5"))
	}
	for version, count := range map[string]string{"earliest": "7000", "latest": "500"} {
		path := filepath.Join(dir, version+".h5")
		if out, err := exec.Command("/usr/bin/python3", "-c", mostlyAttributes, path, version, count).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		sources = append(sources, path)
	}
	for _, source := range sources {
		name := filepath.Base(source)
		made := filepath.Join(dir, "made_"+name)
		if r := runArgs(t, "convert", "-q", "-d", source, "-t", "h5", "-out", made); r.code != 0 && r.code != exitIncomplete {
			t.Errorf("%s: exit %d: %s", name, r.code, r.err)
			continue
		}
		for _, command := range [][]string{{"/usr/bin/python3", "-c", sameDatasets, made, source}, {"h5dump", "-H", made}} {
			if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
				t.Errorf("%s: %s: %v\n%.2000s", name, command[0], err, out)
			}
		}
		read++
	}
	if read == 0 {
		t.Error("nothing was read")
	}
}
