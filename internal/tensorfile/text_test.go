package tensorfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dumptool/internal/tensor"
)

// openText returns the float64 elements of a text.
func openText(t *testing.T, text string, hint RawHint) (*Tensor, []float64, error) {
	t.Helper()
	f, err := openRaw(writeFile(t, []byte(text)), "node.txt", hint)
	if err != nil {
		if f != nil {
			t.Fatal("a file comes with an error")
		}
		return nil, nil, err
	}
	defer f.Close()
	x := &f.Tensors[0]
	all := make([]byte, x.Size)
	if err := x.Elements().ReadElements(all, 0); err != nil {
		t.Fatal(err)
	}
	values := make([]float64, len(all)/8)
	for i := range values {
		values[i] = math.Float64frombits(binary.LittleEndian.Uint64(all[8*i:]))
	}
	return x, values, nil
}

func TestText(t *testing.T) {
	text := "# a header, 1 2 3\n1.000000000000000000e+00\n-2.5e-3 # -7\r\n\n\tnan inf\n -inf 1e999 7"
	want := []float64{1, -0.0025, math.NaN(), math.Inf(1), math.Inf(-1), math.Inf(1), 7}
	x, got, err := openText(t, text, RawHint{DType: tensor.Float16})
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || x.DType != tensor.Float64 || !x.Shape.Equal(dims(7)) {
		t.Errorf("%s %v %v, want %v", x.DType, x.Shape, got, want)
	}
	if x, _, err := openText(t, "1 2\n3 4", RawHint{Shape: dims(2, 2)}); err != nil || !x.Shape.Equal(dims(2, 2)) {
		t.Errorf("%+v, error %v", x, err)
	}
	if x, _, err := openText(t, "# nothing", RawHint{}); err != nil || !x.Shape.Equal(dims(0)) {
		t.Errorf("%+v, error %v", x, err)
	}
}

func TestTextErrors(t *testing.T) {
	tests := []struct {
		name, text string
		hint       RawHint
		want       string
	}{
		{"word", "1\n2 # x\n3 abc\n", RawHint{}, `line 3: "abc" is not a real number`},
		{"commas", "1,2\n", RawHint{}, `line 1: "1,2" is not a real number`},
		{"complex", " (1.0e+00-2.0e+00j)\n", RawHint{}, `line 1: "(1.0e+00-2.0e+00j)" is not a real number`},
		{"long word", "1\n" + strings.Repeat("1", 5000) + "\n", RawHint{}, "line 2: a word of more than 4096 bytes is not a real number"},
		{"endless word", strings.Repeat("1", 1<<20), RawHint{}, "line 1: a word of more than 4096 bytes is not a real number"},
		{"bytes", "1\n\x00\xff\n", RawHint{}, `line 2: "\x00\xff" is not a real number`},
		{"too few", "1 2 3\n", RawHint{Shape: dims(2, 2)}, "(2, 2) elements of float64 need 32 bytes, found 24"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if x, _, err := openText(t, tt.text, tt.hint); err == nil || err.Error() != tt.want {
				t.Errorf("%+v, error %v; want %s", x, err, tt.want)
			}
		})
	}
}

func TestTextLimit(t *testing.T) {
	const text = "1 2\n3"
	if _, size, err := readText(strings.NewReader(text), int64(len(text)), 3); err != nil || size != 24 {
		t.Errorf("%d bytes, error %v", size, err)
	}
	data, _, err := readText(strings.NewReader(text), int64(len(text)), 2)
	if want := "line 2: more than 2 numbers; use .npy or .bin for larger arrays"; data != nil || err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestTextOfConversion reads what AppendText writes, exactly.
func TestTextOfConversion(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want := rapid.SliceOfN(rapid.Float64(), 0, 300).Draw(rt, "values")
		var data []byte
		for _, v := range want {
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
		}
		_, got, err := openText(t, string(tensor.AppendText(nil, data, tensor.HostFloat64)), RawHint{})
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			rt.Fatalf("%v, error %v; want %v", got, err, want)
		}
	})
}

// TestTextAcrossBuffers puts words and comments at every place of a buffer.
func TestTextAcrossBuffers(t *testing.T) {
	for _, first := range []int{65530, 65534, 65535, 65536} {
		text := strings.Repeat(" ", first) + "12.5 # " + strings.Repeat("9", 70000) + "\n-3"
		if _, got, err := openText(t, text, RawHint{}); err != nil || len(got) != 2 || got[0] != 12.5 || got[1] != -3 {
			t.Errorf("after %d blanks: %v, error %v", first, got, err)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, text := range []string{"1\n2\n", "# c\n1e5", "nan -inf", "1#2", "\r\n\v\f", "0x1p-2", "(1+2j)", "range", strings.Repeat("1", maxWord), strings.Repeat("1", maxWord+1)} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		// Lines without their comments, split at white space.
		var words []string
		for line := range bytes.SplitSeq(text, []byte("\n")) {
			line, _, _ = bytes.Cut(line, []byte("#"))
			words = append(words, strings.FieldsFunc(string(line), func(r rune) bool { return strings.ContainsRune(" \t\n\v\f\r", r) })...)
		}
		data, size, err := readText(bytes.NewReader(text), int64(len(text)), maxNumbers)
		for _, w := range words {
			if _, bad := strconv.ParseFloat(w, 64); bad != nil && !errors.Is(bad, strconv.ErrRange) || len(w) > maxWord {
				if err == nil || data != nil {
					t.Fatalf("%q is read", w)
				}
				return
			}
		}
		if err != nil || size != int64(8*len(words)) {
			t.Fatalf("%d bytes, error %v; want %d numbers", size, err, len(words))
		}
	})
}
