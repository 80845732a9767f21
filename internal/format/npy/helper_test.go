package npy

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"dumptool/internal/tensor"
)

// bounded is a file that fails the test on reads outside its size, so that every length must be
// checked before use.
type bounded struct {
	t    testing.TB
	data []byte
}

func (b bounded) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off+int64(len(p)) > int64(len(b.data)) {
		b.t.Errorf("read of %d bytes at %d from a file of %d", len(p), off, len(b.data))
	}
	return bytes.NewReader(b.data).ReadAt(p, off)
}

func openBytes(t testing.TB, data []byte) (*File, error) {
	t.Helper()
	return Open(bounded{t, data}, int64(len(data)))
}

// withHeader returns a file with a header of some version and text.
func withHeader(version byte, text string, data []byte) []byte {
	file := append([]byte(Magic), version, 0)
	if version == 1 {
		file = binary.LittleEndian.AppendUint16(file, uint16(len(text)))
	} else {
		file = binary.LittleEndian.AppendUint32(file, uint32(len(text)))
	}
	return append(append(file, text...), data...)
}

func readAll(t testing.TB, r *io.SectionReader) []byte {
	t.Helper()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(data)) != r.Size() {
		t.Fatalf("read %d bytes, want %d", len(data), r.Size())
	}
	return data
}

// slowCOrder is Data element by element.
func slowCOrder(stored []byte, h Header) []byte {
	size := h.Host.Size()
	count, _ := h.Shape.Count()
	out := make([]byte, 0, len(stored))
	for o := range count {
		at := o
		if h.Fortran {
			at = 0
			index := h.Shape.Coordinates(o)
			for i := len(index) - 1; i >= 0; i-- {
				at = at*h.Shape[i] + index[i]
			}
		}
		element := slices.Clone(stored[at*int64(size):][:size])
		if h.BigEndian {
			parts := [][]byte{element}
			if h.Host == tensor.HostComplex64 || h.Host == tensor.HostComplex128 {
				parts = [][]byte{element[:size/2], element[size/2:]}
			}
			for _, part := range parts {
				slices.Reverse(part)
			}
		}
		out = append(out, element...)
	}
	return out
}

// randomBytes returns n bytes that depend on seed only.
func randomBytes(seed uint64, n int64) []byte {
	rnd := rand.New(rand.NewPCG(seed, 1))
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(rnd.Uint32())
	}
	return data
}
