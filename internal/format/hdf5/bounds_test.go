package hdf5

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/dumptest"
)

// message1 is a message of a version-1 object header.
func message1(kind uint16, data ...byte) []byte {
	data = append(data, make([]byte, -len(data)&7)...)
	m := binary.LittleEndian.AppendUint16(nil, kind)
	m = binary.LittleEndian.AppendUint16(m, uint16(len(data)))
	return append(append(m, 0, 0, 0, 0), data...)
}

// object1 is a version-1 object header.
func object1(messages ...[]byte) []byte {
	all := slices.Concat(messages...)
	b := binary.LittleEndian.AppendUint16([]byte{1, 0}, uint16(len(messages)))
	b = binary.LittleEndian.AppendUint32(b, 1)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(all)))
	return append(append(b, 0, 0, 0, 0), all...)
}

// firstPart is the address of the first part of a file0.
const firstPart = 96

// file0 is a version-0 file of consecutive parts; the last one is the root.
func file0(parts ...[]byte) []byte {
	body := slices.Concat(parts...)
	end := uint64(firstPart + len(body))
	b := append([]byte(Magic), 0, 0, 0, 0, 0, 8, 8, 0, 4, 0, 16, 0, 0, 0, 0, 0)
	b = appendUint64(b, 0, noAddress, end, noAddress, 0, end-uint64(len(parts[len(parts)-1])))
	return append(append(b, make([]byte, firstPart-len(b))...), body...)
}

func soft(name, target string) []byte {
	b := append([]byte{1, 8, byte(softLink), byte(len(name))}, name...)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(target)))
	return message1(msgLink, append(b, target...)...)
}

func hard(name string, addr int) []byte {
	return message1(msgLink, appendUint64(append([]byte{1, 0, byte(len(name))}, name...), uint64(addr))...)
}

// A dataspace of one element, and datatypes.
var (
	scalarSpace = []byte{2, 0, 0, 0}
	int8Type    = []byte{0x10, 8, 0, 0, 1, 0, 0, 0, 0, 0, 8, 0}
	float64Type = []byte{0x11, 0x20, 63, 0, 8, 0, 0, 0, 0, 0, 64, 0, 52, 11, 0, 52, 255, 3, 0, 0}
)

// scalar is a dataset of one 8-byte number.
func scalar(more ...[]byte) []byte {
	return object1(append(more, message1(msgDataspace, scalarSpace...), message1(msgDatatype, int8Type...),
		message1(msgLayout, 3, storedInHeader, 1, 0, 7))...)
}

// list is an attribute with a list of numbers.
func list(name string, datatype, data []byte) []byte {
	space := appendUint64([]byte{2, 1, 0, 1}, uint64(len(data)/int(datatype[4])))
	b := []byte{3, 0, byte(len(name) + 1), 0, byte(len(datatype)), 0, byte(len(space)), 0, 0}
	return message1(msgAttribute, slices.Concat(b, []byte(name), []byte{0}, datatype, space, data)...)
}

// hugeElements is a file with shuffled chunks whose elements claim 2^32-1 bytes.
func hugeElements(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dumptest.GoldenDir, "h5", "storage.h5"))
	if err != nil {
		t.Fatal(err)
	}
	name := []byte("shuffle\x00")
	for _, size := range []string{"\x04\x00\x00\x00", "\x02\x00\x00\x00"} {
		was := append(name, size...)
		if !bytes.Contains(data, was) {
			t.Fatalf("storage.h5 has no shuffle of elements of %q bytes", size)
		}
		data = bytes.ReplaceAll(data, was, append(name, "\xff\xff\xff\xff"...))
	}
	return data
}

// manySteps is a file with soft links of 2^15 steps, each of which takes 2^15 steps.
func manySteps() []byte {
	return file0(object1(soft("a", strings.Repeat("b/", 1<<15-100)), soft("b", strings.Repeat("c/", 1<<15-100)), soft("c", strings.Repeat("/", 1<<16-100))))
}

// TestTime opens files that demand work out of proportion to their size.
func TestTime(t *testing.T) {
	exercise(t, hugeElements(t))
	exercise(t, manySteps())
}

// TestFilterValues reads a filter that claims more values than there are bytes.
func TestFilterValues(t *testing.T) {
	message := []byte{2, 1, filterShuffle, 0, 0, 0, 0xff, 0xff, 4, 0, 0, 0}
	if n := testing.AllocsPerRun(10, func() {
		c := cursor{b: message}
		if _, err := c.readFilters(); err == nil {
			t.Error("there is no error")
		}
	}); n > 100 {
		t.Errorf("%v allocations for %d bytes", n, len(message))
	}
}

// allocated returns the bytes that Open allocates for a file with some number of tensors.
func allocated(t *testing.T, data []byte, tensors int) int64 {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c, err := Open(bytes.NewReader(data), int64(len(data)))
	runtime.ReadMemStats(&after)
	if err != nil || len(c.Tensors) != tensors || c.Tensors[0].Err != nil {
		t.Fatalf("%+v, error %v, want %d tensors", c, err, tensors)
	}
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// TestSharedAttributes opens a dataset with many attributes and many links to it.
func TestSharedAttributes(t *testing.T) {
	const attrs, links = 1000, 4000
	var messages, root [][]byte
	for i := range attrs {
		messages = append(messages, list(fmt.Sprint("a", i), int8Type, []byte{1}))
	}
	for i := range links {
		root = append(root, hard(fmt.Sprint("d", i), firstPart))
	}
	if n := allocated(t, file0(scalar(messages...), object1(root...)), links); n > 32<<20 {
		t.Errorf("%d bytes for %d attributes and %d links", n, attrs, links)
	}
}

// TestLargeChunks opens datasets of one element that share a chunk of 16 MiB.
func TestLargeChunks(t *testing.T) {
	const datasets, chunkBytes = 50, 16 << 20
	var deflated bytes.Buffer
	w := zlib.NewWriter(&deflated)
	_, err := w.Write(make([]byte, chunkBytes))
	if err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	node := appendUint64(append([]byte("TREE"), 1, 0, 1, 0), noAddress, noAddress, uint64(deflated.Len()), 0, 0, firstPart)
	parts := [][]byte{deflated.Bytes(), node}
	var root [][]byte
	next := firstPart + deflated.Len()
	tree := next
	next += len(node)
	for i := range datasets {
		layout := binary.LittleEndian.AppendUint32(appendUint64([]byte{3, storedInChunks, 2}, uint64(tree)), chunkBytes)
		d := object1(message1(msgDataspace, appendUint64([]byte{2, 1, 0, 1}, 1)...), message1(msgDatatype, int8Type...),
			message1(msgFilters, 2, 1, filterDeflate, 0, 0, 0, 0, 0), message1(msgLayout, append(layout, 1, 0, 0, 0)...))
		root = append(root, hard(fmt.Sprint("d", i), next))
		parts = append(parts, d)
		next += len(d)
	}
	data := file0(append(parts, object1(root...))...)
	if n := allocated(t, data, datasets); n > 64<<20 {
		t.Errorf("%d bytes for %d elements", n, datasets)
	}
	c, err := Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	element := []byte{1}
	if _, err := c.Tensors[0].Data.ReadAt(element, 0); err != nil || element[0] != 0 {
		t.Errorf("the element is %d, error %v", element[0], err)
	}
}

// TestManyAttributes reads files that consist mostly of attributes.
func TestManyAttributes(t *testing.T) {
	const count, size = 100, 64000
	for _, datatype := range [][]byte{float64Type, int8Type} {
		var messages [][]byte
		for i := range count {
			messages = append(messages, list(fmt.Sprint("a", i), datatype, bytes.Repeat([]byte{1}, size)))
		}
		data := file0(scalar(messages...), object1(hard("d", firstPart)))
		c, err := Open(bytes.NewReader(data), int64(len(data)))
		if err != nil || len(c.Tensors) != 1 || len(c.Tensors[0].Attrs) != count {
			t.Fatalf("type % x: %+.1000v, error %v", datatype, c, err)
		}
		switch last := c.Tensors[0].Attrs[count-1].Value.(type) {
		case []float64:
			if len(last) != size/8 || math.Float64bits(last[0]) != 0x0101010101010101 {
				t.Errorf("%d numbers, the first %x", len(last), last[0])
			}
		case []int64:
			if len(last) != size || last[0] != 1 {
				t.Errorf("%d numbers, the first %d", len(last), last[0])
			}
		default:
			t.Errorf("the last one is %T", last)
		}
	}
}
