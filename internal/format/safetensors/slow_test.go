package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// slowTensor is a tensor of slowRead.
type slowTensor struct {
	name, dtype string
	shape       []int64
	data        []byte
}

// slowSizes are the element sizes in bytes, by the names of the types.
var slowSizes = map[string]int64{
	"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U64": 8, "U32": 4, "U16": 2,
	"U8": 1, "BOOL": 1, "F8_E4M3": 1, "F8_E5M2": 1, "F8_E8M0": 1, "C64": 8,
}

// slowRead reads a file as the specification describes it, with encoding/json and big integers, and
// marks every byte that belongs to a tensor.
func slowRead(file []byte) ([]slowTensor, error) {
	if len(file) < 8 {
		return nil, fmt.Errorf("%d bytes", len(file))
	}
	length := binary.LittleEndian.Uint64(file)
	if length > uint64(len(file)-8) {
		return nil, fmt.Errorf("header of %d bytes", length)
	}
	text, data := file[8:8+length], file[8+length:]
	if len(text) == 0 || text[0] != '{' {
		return nil, fmt.Errorf("no object")
	}
	members, err := slowObject(text)
	if err != nil {
		return nil, err
	}
	var all []slowTensor
	covered := make([]int, len(data))
	for _, m := range members {
		if m.key == "__metadata__" {
			texts, err := slowObject(m.value)
			for _, v := range texts {
				var s *string
				if err == nil && (json.Unmarshal(v.value, &s) != nil || s == nil) {
					err = fmt.Errorf("metadata %s", v.value)
				}
			}
			if err != nil {
				return nil, err
			}
			continue
		}
		t, begin, end, err := slowEntry(m.key, m.value)
		if err != nil {
			return nil, err
		}
		if begin > end || end > int64(len(data)) {
			return nil, fmt.Errorf("place %d to %d", begin, end)
		}
		t.data = data[begin:end]
		for i := begin; i < end; i++ {
			covered[i]++
		}
		all = append(all, t)
	}
	if i := slices.IndexFunc(covered, func(n int) bool { return n != 1 }); i >= 0 {
		return nil, fmt.Errorf("byte %d is in %d tensors", i, covered[i])
	}
	return all, nil
}

type slowMember struct {
	key   string
	value json.RawMessage
}

// slowObject returns the members of an object, whose keys must differ.
func slowObject(text []byte) ([]slowMember, error) {
	if !json.Valid(text) || !strings.HasPrefix(strings.TrimSpace(string(text)), "{") {
		return nil, fmt.Errorf("not an object")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	var all []slowMember
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		m := slowMember{key: key.(string)}
		if err := d.Decode(&m.value); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(all, func(other slowMember) bool { return other.key == m.key }) {
			return nil, fmt.Errorf("duplicate key %q", m.key)
		}
		all = append(all, m)
	}
	return all, nil
}

func slowEntry(name string, text []byte) (t slowTensor, begin, end int64, err error) {
	members, err := slowObject(text)
	if err != nil {
		return t, 0, 0, err
	}
	var dtype *string
	var shape, offsets []json.RawMessage
	for _, m := range members {
		switch m.key {
		case "dtype":
			err = json.Unmarshal(m.value, &dtype)
		case "shape":
			err = json.Unmarshal(m.value, &shape)
		case "data_offsets":
			err = json.Unmarshal(m.value, &offsets)
		}
		if err != nil {
			return t, 0, 0, err
		}
	}
	if dtype == nil || shape == nil || len(offsets) != 2 || len(shape) > 32 {
		return t, 0, 0, fmt.Errorf("%q lacks a key", name)
	}
	t.name, t.dtype = name, *dtype
	product := big.NewInt(slowSizes[t.dtype])
	for _, n := range shape {
		size, err := slowWhole(n)
		if err != nil {
			return t, 0, 0, err
		}
		t.shape = append(t.shape, size)
		product.Mul(product, big.NewInt(size))
	}
	if begin, err = slowWhole(offsets[0]); err != nil {
		return t, 0, 0, err
	}
	if end, err = slowWhole(offsets[1]); err != nil {
		return t, 0, 0, err
	}
	if product.Cmp(big.NewInt(end-begin)) != 0 && slowSizes[t.dtype] > 0 {
		return t, 0, 0, fmt.Errorf("%q has %v bytes", name, product)
	}
	return t, begin, end, nil
}

func slowWhole(n []byte) (int64, error) {
	if strings.Trim(string(n), "0123456789") != "" {
		return 0, fmt.Errorf("not a whole number")
	}
	return strconv.ParseInt(string(n), 10, 64)
}

// slowWrite makes a file of tensors in the given order, with other members of the header before
// them.
func slowWrite(tensors []slowTensor, others ...string) []byte {
	header, at := others, 0
	var data []byte
	for _, t := range tensors {
		name, err := json.Marshal(t.name)
		if err != nil || !utf8.ValidString(t.name) {
			panic(t.name)
		}
		shape := strings.ReplaceAll(fmt.Sprint(t.shape), " ", ", ")
		header = append(header, fmt.Sprintf(`%s: {"data_offsets": [%d, %d], "shape": %s, "dtype": "%s"}`, name, at, at+len(t.data), shape, t.dtype))
		at += len(t.data)
		data = append(data, t.data...)
	}
	text := "{" + strings.Join(header, ",\n ") + "}  "
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	return append(append(file, text...), data...)
}

// file is a file with any header.
func file(header, data string) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), data...)
}

func readAll(r io.ReaderAt, size int64) ([]byte, error) {
	return io.ReadAll(io.NewSectionReader(r, 0, size))
}
