package tensorfile

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/dumptest"
	"dumptool/internal/filename"
	"dumptool/internal/format/npy"
	"dumptool/internal/tensor"
)

// sample is a file of a container with one tensor, output 0: 1000 elements of uint16, or of another
// two-byte type. The bits of element i are i.
type sample struct {
	name  string
	label string       // of the tensor, empty for output 0
	dtype tensor.DType // 0 for uint16
	data  []byte
	// broken is an invalid file of the same name, error a part of its error.
	broken []byte
	error  string
	raw    *RawHint
}

// samples holds a sample of every container.
var samples = map[string]func(t *testing.T, elements []byte) sample{
	"npy": func(t *testing.T, elements []byte) sample {
		t.Helper()
		header, err := npy.AppendHeader(nil, tensor.HostUint16, tensor.Shape{10, 100})
		if err != nil {
			t.Fatal(err)
		}
		return sample{name: "x.npy", data: append(header, elements...), broken: header, error: "data is truncated"}
	},
	"pt": func(t *testing.T, elements []byte) sample {
		t.Helper()
		pickle := "\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nHalfStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuM\xe8\x03tQ" +
			"K\x00K\x0aKd\x86KdK\x01\x86\x89ccollections\nOrderedDict\n)RtR."
		data := zipOf(t, map[string][]byte{"x/data.pkl": []byte(pickle), "x/data/0": elements})
		short := zipOf(t, map[string][]byte{"x/data.pkl": []byte(pickle), "x/data/0": elements[2:]})
		return sample{name: "x.pt", data: data, dtype: tensor.Float16, broken: short, error: "storage \"0\" has 999 elements, want 1000"}
	},
	"npz": func(t *testing.T, elements []byte) sample {
		t.Helper()
		header, err := npy.AppendHeader(nil, tensor.HostUint16, tensor.Shape{10, 100})
		if err != nil {
			t.Fatal(err)
		}
		data := zipOf(t, map[string][]byte{"a/b.npy": append(header, elements...)})
		return sample{name: "x.npz", label: "a/b", data: data, broken: data[:len(data)-30], error: "zip"}
	},
	"safetensors": func(_ *testing.T, elements []byte) sample {
		head := fmt.Sprintf("%-64s", `{"a.b":{"dtype":"U16","shape":[10,100],"data_offsets":[0,2000]}}`)
		data := append(append([]byte{64, 0, 0, 0, 0, 0, 0, 0}, head...), elements...)
		return sample{name: "x.safetensors", label: "a.b", data: data, broken: data[:len(data)-1], error: "2000"}
	},
	"hdf5": func(_ *testing.T, elements []byte) sample {
		data := append(hdf5Head(len(elements), 10, 100), elements...)
		return sample{name: "x.h5", label: "/a", data: data, broken: data[:len(data)-1], error: "truncated"}
	},
	"raw": func(_ *testing.T, elements []byte) sample {
		return sample{name: "x.bin", data: elements, broken: elements[1:], error: "need 1998 bytes, found 1999",
			raw: &RawHint{DType: tensor.Uint16}}
	},
	"atb": func(_ *testing.T, elements []byte) sample {
		head := "$Version=1.0\n$Object.Count=1\n$Object.Length=2000\nformat=2\ndtype=1\ndims=10,100\n$Object.data=0,2000\n$End=1\n"
		return sample{name: "outtensor0.bin", data: append([]byte(head), elements...), dtype: tensor.Float16,
			broken: append([]byte(head), elements[1:]...), error: "$Object.Length is 2000, but 1999 bytes follow the header"}
	},
	"bin": func(_ *testing.T, elements []byte) sample {
		return sample{name: "S--Add-op1_output_0_shape_10_100_UInt16_DefaultFormat.bin", data: elements, broken: elements[1:], error: "need 2000 bytes, found 1999"}
	},
	"dump": func(t *testing.T, elements []byte) sample {
		t.Helper()
		var b bytes.Buffer
		if err := dumptest.Write(&b, &dumptest.Content{Container: dumpfmt.BinaryV2, Version: "2.0", OpName: "x", Outputs: []dumptest.TensorContent{{
			Payload: dumptest.Bytes(elements), StoredDType: int32(tensor.Uint16), StoredFormat: 2, Shape: []uint64{10, 100}}}}); err != nil {
			t.Fatal(err)
		}
		return sample{name: "Add.x.1.2.3", data: b.Bytes(), broken: b.Bytes()[:20], error: "header length"}
	},
}

// zipOf makes an archive.
func zipOf(t *testing.T, entries map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		entry, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := entry.Write(entries[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// hdf5Head is an HDF5 file up to the data of its dataset a of uint16 and the given shape.
func hdf5Head(size int, shape ...uint64) []byte {
	const root, dataset, data, undefined = 96, 136, 240, math.MaxUint64
	parts := []any{
		[]byte("\x89HDF\r\n\x1a\n\x00\x00\x00\x00\x00\x08\x08\x00\x04\x00\x10\x00\x00\x00\x00\x00"), uint64(0), uint64(undefined), uint64(0), uint64(undefined),
		uint64(0), uint64(root), make([]byte, 24),
		// The root: a header of one message, a link.
		[]byte{1, 0, 1, 0, 1, 0, 0, 0, 24, 0, 0, 0, 0, 0, 0, 0},
		[]byte{6, 0, 16, 0, 0, 0, 0, 0}, []byte("\x01\x00\x01a"), uint64(dataset), make([]byte, 4),
		// The dataset: shape, type, and where the data is.
		[]byte{1, 0, 3, 0, 1, 0, 0, 0, 88, 0, 0, 0, 0, 0, 0, 0},
		[]byte{1, 0, 24, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0}, shape,
		[]byte{3, 0, 16, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 2, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0},
		[]byte{8, 0, 24, 0, 0, 0, 0, 0, 3, 1}, uint64(data), uint64(size), make([]byte, 6),
	}
	var b bytes.Buffer
	for _, part := range parts {
		_ = binary.Write(&b, binary.LittleEndian, part)
	}
	head := b.Bytes()
	binary.LittleEndian.PutUint64(head[40:], uint64(len(head)+size))
	return head
}

// TestContainers opens a sample of every container: reading in blocks equals reading at once, and a
// broken file is an error with a reason.
func TestContainers(t *testing.T) {
	var elements []byte
	for i := range 1000 {
		elements = append(elements, byte(i), byte(i>>8))
	}
	for _, c := range containers {
		t.Run(c.Name, func(t *testing.T) {
			build, ok := samples[c.Name]
			if !ok {
				t.Fatal("samples has no file of this container")
			}
			s := build(t, elements)
			opt := Options{Name: s.name, Raw: s.raw}
			f, err := Open(writeFile(t, s.data), opt)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if c.Name != "dump" && f.Container != c.Name || len(f.Tensors) != 1 || c.Single == c.Named && c.Name != "dump" || f.Named != c.Named {
				t.Fatalf("opened as %s: %+v", f.Container, f.Tensors)
			}
			x := &f.Tensors[0]
			if x.String() != cmp.Or(s.label, "output 0") || x.DType != cmp.Or(s.dtype, tensor.Uint16) || x.Err != nil {
				t.Errorf("%s, %s, error %v", x, x.DType, x.Err)
			}
			var read, buf []byte
			for block, err := range x.Blocks(t.Context(), 1000, &buf) {
				if err != nil {
					t.Fatal(err)
				}
				read = append(read, block...)
			}
			whole := make([]byte, len(elements))
			if err := x.Elements().ReadElements(whole, 0); err != nil || !bytes.Equal(whole, elements) || !bytes.Equal(read, elements) {
				t.Errorf("the elements differ, error %v", err)
			}
			broken, err := Open(writeFile(t, s.broken), opt)
			if err == nil { // the error is an error of the tensor
				defer broken.Close()
				err = broken.Tensors[0].Err
			}
			if !strings.Contains(fmt.Sprint(err), s.error) {
				t.Errorf("broken: %v, error %v, want %q", f, err, s.error)
			}
		})
	}
	if len(samples) != len(containers) {
		t.Errorf("%d samples of %d containers", len(samples), len(containers))
	}
}

// TestEndings: the ending of a sample claims its container. Containers without an ending of their
// own are exempt.
func TestEndings(t *testing.T) {
	anything := []string{"atb", "bin", "dump"}
	for _, c := range containers {
		build, ok := samples[c.Name]
		if !ok || slices.Contains(anything, c.Name) {
			continue // TestContainers asks for a sample
		}
		name := build(t, make([]byte, 2000)).name
		if got := filename.Container(name); got != c.Name {
			t.Errorf("%s: the ending of %s claims %q: it needs a row in endings of internal/filename/filename.go", c.Name, name, got)
		}
		if ContainerOf("X"+strings.ToUpper(name)) != c {
			t.Errorf("%s: not claimed by %s in capitals", c.Name, name)
		}
	}
	if ContainerOf("Add.x.1.2.3") != nil || Claims("x.bin") || !Claims("x.npy") {
		t.Error("names claim other containers")
	}
}
