package torch

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"dumptool/internal/dumptest"
	"dumptool/internal/format"
	"dumptool/internal/tensor"
)

// A model is a test file with the expected result: its pickle is written while drawing, and the
// elements of every tensor are picked one by one.
type model struct {
	*rapid.T
	legacy, bigEndian bool
	pickle            []byte
	memo              uint32
	storages          []drawnStorage
	rows              []row
	values            []format.Value
}

type drawnStorage struct {
	class string
	size  int // bytes of an element
	count int64
	data  []byte // as in the file
}

type row struct {
	name     string
	dtype    tensor.DType
	shape    tensor.Shape
	elements []byte
}

// drawnTypes are element types with their storages; pairs: a complex type.
var drawnTypes = []struct {
	class string
	size  int
	dtype tensor.DType
	pairs bool
}{
	{"Float", 4, tensor.Float32, false}, {"Double", 8, tensor.Float64, false}, {"Half", 2, tensor.Float16, false}, {"BFloat16", 2, tensor.BFloat16, false},
	{"Byte", 1, tensor.Uint8, false}, {"Char", 1, tensor.Int8, false}, {"Short", 2, tensor.Int16, false}, {"Int", 4, tensor.Int32, false},
	{"Long", 8, tensor.Int64, false}, {"Bool", 1, tensor.Bool, false}, {"ComplexFloat", 8, tensor.Complex64, true}, {"ComplexDouble", 16, tensor.Complex128, true},
}

// drawnBytes are types of tensors over untyped storages.
var drawnBytes = []struct {
	name  string
	size  int
	dtype tensor.DType
}{
	{"float8_e4m3fn", 1, tensor.Float8E4M3FN}, {"float8_e5m2", 1, tensor.Float8E5M2}, {"uint16", 2, tensor.Uint16}, {"uint32", 4, tensor.Uint32}, {"uint64", 8, tensor.Uint64},
}

func (m *model) op(parts ...string) {
	for _, p := range parts {
		m.pickle = append(m.pickle, p...)
	}
}

func (m *model) text(s string) {
	m.op("X", string(binary.LittleEndian.AppendUint32(nil, uint32(len(s)))), s)
}

func (m *model) int(n int64) {
	m.op("\x8a\x08", string(binary.LittleEndian.AppendUint64(nil, uint64(n))))
}

func (m *model) global(module, name string) {
	if rapid.Bool().Draw(m.T, "stack global") {
		m.text(module)
		m.text(name)
		m.op("\x93")
		return
	}
	m.op("c", module, "\n", name, "\n")
}

func (m *model) tuple(list []int64) {
	m.op("(")
	for _, n := range list {
		m.int(n)
	}
	m.op("t")
}

func (m *model) bool(v bool) { m.op(map[bool]string{false: "\x89", true: "\x88"}[v]) }

// put memoises the top of the stack and returns the code that recalls it.
func (m *model) put() string {
	number := string(binary.LittleEndian.AppendUint32(nil, m.memo))
	m.memo++
	m.op("r", number)
	return "j" + number
}

// storage refers to a new storage, or to an old one with elements of the same class.
func (m *model) storage(class string, size int) *drawnStorage {
	var same []int
	for i, s := range m.storages {
		if s.class == class && s.size == size {
			same = append(same, i)
		}
	}
	var i int
	if len(same) > 0 && rapid.Bool().Draw(m.T, "same storage") {
		i = rapid.SampledFrom(same).Draw(m.T, "storage")
	} else {
		i = len(m.storages)
		count := rapid.Int64Range(0, 60).Draw(m.T, "count")
		m.storages = append(m.storages, drawnStorage{class, size, count, noise(rapid.Uint64().Draw(m.T, "seed"), count*int64(size))})
	}
	s := &m.storages[i]
	m.op("(")
	m.text("storage")
	if class == "Untyped" {
		m.global("torch.storage", "UntypedStorage")
		m.id(i, s.count*int64(s.size))
	} else {
		m.global(rapid.SampledFrom([]string{"torch", "torch.cuda"}).Draw(m.T, "module"), class+"Storage")
		m.id(i, s.count)
	}
	return s
}

// id writes the end of a persistent id.
func (m *model) id(key int, count int64) {
	m.text(strconv.Itoa(key))
	m.text("cpu")
	m.int(count)
	if m.legacy {
		m.op("N")
	}
	m.op("tQ")
}

// tensor writes a tensor with one of the functions and records the expected one.
func (m *model) tensor(name string) {
	t := rapid.SampledFrom(drawnTypes).Draw(m.T, "type")
	function := rapid.SampledFrom([]string{"_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3", "_rebuild_npu_tensor", "storage", "parameter", "from_type"}).Draw(m.T, "function")
	switch function {
	case "storage":
		s := m.storage(t.class, t.size)
		m.add(name, s, t.dtype, t.size, t.pairs, 0, tensor.Shape{s.count}, []int64{1}, false, false)
		return
	case "parameter":
		m.global("torch._utils", "_rebuild_parameter")
		m.op("(")
	case "from_type":
		m.global("torch._tensor", "_rebuild_from_type_v2")
		m.op("(")
	}
	switch function {
	case "_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3":
		m.global("torch._utils", function)
	case "_rebuild_npu_tensor":
		m.global("torch_npu.utils.storage", function)
	default:
		m.global("torch._utils", "_rebuild_tensor_v2")
	}
	if function == "from_type" {
		m.global("torch.nn.parameter", "Parameter")
	}
	m.op("(")
	class, size := t.class, t.size
	dtype, typeName := t.dtype, ""
	if function == "_rebuild_tensor_v3" {
		b := rapid.SampledFrom(drawnBytes).Draw(m.T, "type of bytes")
		class, size, dtype, typeName = "Untyped", b.size, b.dtype, b.name
	}
	s := m.storage(class, size)
	shape, strides, offset := m.view(s.count)
	m.int(offset)
	m.tuple(shape)
	m.tuple(strides)
	var conj, neg bool
	if function != "_rebuild_tensor" {
		m.bool(rapid.Bool().Draw(m.T, "requires grad"))
		m.op("N")
	}
	switch function {
	case "_rebuild_tensor_v3":
		m.global("torch", typeName)
	case "_rebuild_npu_tensor":
		m.int(29)
	case "_rebuild_tensor_v2":
		conj = t.pairs && rapid.Bool().Draw(m.T, "conjugate")
		neg = dtype.Host() >= tensor.HostFloat16 && rapid.Bool().Draw(m.T, "negate")
		m.op("}(")
		m.text("conj")
		m.bool(conj)
		m.text("neg")
		m.bool(neg)
		m.text("29")
		m.op("\x88u")
	}
	m.op("t")
	switch function {
	case "from_type":
		m.op("}tR")
	case "parameter":
		m.op("R\x88}tR")
	default:
		m.op("R")
	}
	m.add(name, s, dtype, size, t.pairs && class != "Untyped", offset, shape, strides, conj, neg)
}

// view draws a shape and strides over count elements.
func (m *model) view(count int64) (shape tensor.Shape, strides []int64, offset int64) {
	offset = rapid.Int64Range(0, count).Draw(m.T, "offset")
	room := count - offset - 1
	for range rapid.IntRange(0, 4).Draw(m.T, "rank") {
		n := rapid.Int64Range(0, 5).Draw(m.T, "length")
		if room < 0 {
			n = 0
		}
		stride := rapid.Int64Range(0, max(0, room)/max(1, n-1)).Draw(m.T, "stride")
		if n == 1 && rapid.Bool().Draw(m.T, "any stride") {
			stride = math.MaxInt64
		}
		if n > 1 {
			room -= (n - 1) * stride
		}
		shape, strides = append(shape, n), append(strides, stride)
	}
	if room < 0 && !slices.Contains(shape, 0) {
		shape, strides = append(shape, 0), append(strides, 1)
	}
	return shape, strides, offset
}

// add records a tensor, with elements picked one by one.
func (m *model) add(name string, s *drawnStorage, dtype tensor.DType, size int, pairs bool, offset int64, shape tensor.Shape, strides []int64, conj, neg bool) {
	r := row{name: name, dtype: dtype, shape: append(tensor.Shape{}, shape...)}
	var pick func(axis int, at int64)
	pick = func(axis int, at int64) {
		if axis < len(shape) {
			for i := range shape[axis] {
				pick(axis+1, at+i*strides[axis])
			}
			return
		}
		e := slices.Clone(s.data[at*int64(size):][:size])
		parts := [][]byte{e}
		if pairs {
			parts = [][]byte{e[:size/2], e[size/2:]}
		}
		for i, p := range parts {
			if m.bigEndian {
				slices.Reverse(p)
			}
			if neg != (conj && i == 1) {
				p[len(p)-1] ^= 0x80
			}
		}
		r.elements = append(r.elements, e...)
	}
	pick(0, offset)
	m.rows = append(m.rows, r)
}

// any writes a value: a container, a tensor or a number.
func (m *model) any(name string, depth int) {
	join := func(key string) string {
		if name == "" {
			return key
		}
		return name + "." + key
	}
	kind := rapid.SampledFrom([]string{"dict", "ordered", "list", "tuple", "tensor", "tensor", "tensor", "int", "none", "twice"}).Draw(m.T, "kind")
	if depth == 0 && kind != "int" && kind != "none" {
		kind = "tensor"
	}
	n := rapid.IntRange(0, 4).Draw(m.T, "items")
	switch kind {
	case "dict", "ordered":
		if kind == "dict" {
			m.op("}")
		} else {
			m.global("collections", "OrderedDict")
			m.op(")R")
		}
		m.op("(")
		for i := range n {
			key := fmt.Sprintf("k%d.x", i)
			if i%2 == 0 {
				m.text(key)
			} else {
				key = strconv.Itoa(-i)
				m.int(int64(-i))
			}
			m.any(join(key), depth-1)
		}
		m.op("u")
		if kind == "ordered" {
			m.op("}")
			m.text("_metadata")
			m.op("}sb")
		}
	case "list", "tuple":
		m.op("(")
		for i := range n {
			m.any(join(strconv.Itoa(i)), depth-1)
		}
		m.op(map[string]string{"list": "l", "tuple": "t"}[kind])
	case "tensor":
		m.tensor(name)
	case "twice": // one tensor at two places
		m.op("(")
		m.tensor(join("0"))
		again := m.rows[len(m.rows)-1]
		again.name = join("1")
		m.rows = append(m.rows, again)
		m.op(m.put(), "l")
	case "int":
		v := rapid.Int64().Draw(m.T, "int")
		m.int(v)
		m.values = append(m.values, format.Value{Name: name, Type: "int", Text: strconv.FormatInt(v, 10)})
	case "none":
		m.op("N")
		m.values = append(m.values, format.Value{Name: name, Type: "NoneType", Text: "None"})
	}
}

// file returns the bytes of the file.
func (m *model) file() []byte {
	if m.legacy {
		out := []byte("\x80\x02" + legacyMagic + "\x80\x02M\xe9\x03.\x80\x02}.\x80\x02")
		out = append(append(out, m.pickle...), "\x80\x02]("...)
		keys := &model{}
		for i := range m.storages {
			keys.text(strconv.Itoa(i))
		}
		out = append(append(out, keys.pickle...), "e."...)
		for _, s := range m.storages {
			count := s.count
			if s.class == "Untyped" {
				count *= int64(s.size)
			}
			out = append(binary.LittleEndian.AppendUint64(out, uint64(count)), s.data...)
		}
		return out
	}
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	entry := func(name string, data []byte) {
		method := rapid.SampledFrom([]uint16{zip.Store, zip.Store, zip.Deflate}).Draw(m.T, "method")
		f, err := w.CreateHeader(&zip.FileHeader{Name: "net/" + name, Method: method})
		if err == nil {
			_, err = f.Write(data)
		}
		if err != nil {
			m.Fatal(err)
		}
	}
	entry("data.pkl", append([]byte("\x80\x04"), m.pickle...))
	order := map[bool]string{false: "little", true: "big"}[m.bigEndian]
	if m.bigEndian || rapid.Bool().Draw(m.T, "byteorder") {
		entry("byteorder", []byte(order))
	}
	for i, s := range m.storages {
		entry("data/"+strconv.Itoa(i), s.data)
	}
	entry("version", []byte("3\n"))
	if err := w.Close(); err != nil {
		m.Fatal(err)
	}
	return out.Bytes()
}

func TestOpenMatchesModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &model{T: rt, legacy: rapid.Bool().Draw(rt, "legacy")}
		m.bigEndian = !m.legacy && rapid.Bool().Draw(rt, "big-endian")
		m.any("", 3)
		m.op(".")
		file := m.file()
		c, err := openBytes(file)
		if err != nil {
			rt.Fatal(err)
		}
		dumptest.CheckContents(t, c)
		if len(c.Tensors) != len(m.rows) || len(c.Warnings) > 0 || !slices.Equal(c.Values, m.values) {
			rt.Fatalf("%d tensors, values %v, warnings %q, want %d, %v", len(c.Tensors), c.Values, c.Warnings, len(m.rows), m.values)
		}
		for i, want := range m.rows {
			got := &c.Tensors[i]
			if got.Name != want.name || got.DType != want.dtype || !slices.Equal(got.Shape, want.shape) || got.Err != nil {
				rt.Fatalf("%q %v%v, %v, want %q %v%v", got.Name, got.DType, got.Shape, got.Err, want.name, want.dtype, want.shape)
			}
			if elements, err := io.ReadAll(got.Data); err != nil || !bytes.Equal(elements, want.elements) {
				rt.Fatalf("%q: % x, %v, want % x", got.Name, elements, err, want.elements)
			}
		}
	})
}
