package atb

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"dumptool/internal/tensor"
)

// file is a file with data, and a header of the lines that the library always writes and further
// lines.
func file(data string, lines ...string) []byte {
	head := []string{"$Version=1.0", "$Object.Count=1", fmt.Sprintf("$Object.Length=%d", len(data))}
	return []byte(strings.Join(append(append(head, lines...), "$End=1\n"), "\n") + data)
}

func read(data []byte) (*Header, error) { return Read(bytes.NewReader(data), int64(len(data))) }

func TestRead(t *testing.T) {
	const data = "abcdefghijkl"
	for _, test := range []struct {
		file []byte
		want Header
		data string
	}{
		{file(data, "format=2", "dtype=1", "dims=2,3", "$Object.data=0,12"),
			Header{DType: tensor.Float16, HasType: true, Format: tensor.ND, Shape: tensor.Shape{2, 3}}, data},
		{file(data, "format=29", "dtype=0", "dims=1", "$Object.data=4,4"),
			Header{DType: tensor.Float32, HasType: true, Format: tensor.FractalNZ, Shape: tensor.Shape{1}, Spare: 4}, "efgh"},
		{file(data, "format=-1", "dtype=9", "dims=", "$Object.data=0,8"),
			Header{DType: tensor.Int64, HasType: true, Format: tensor.ND, Shape: tensor.Shape{}, Spare: 4}, "abcdefgh"},
		{file(data, "dtype=3", "$Object.data=8,4"),
			Header{DType: tensor.Int32, HasType: true, Format: tensor.ND, Shape: tensor.Shape{}}, "ijkl"},
		{file("", "dtype=2", "dims=0,4", "$Object.data=0,0"),
			Header{DType: tensor.Int8, HasType: true, Format: tensor.ND, Shape: tensor.Shape{0, 4}}, ""},
		{file("xy", "dtype=12\r", "dims= 2 \r", "$Object.data=0, 2\r", "other=1=2"),
			Header{DType: tensor.Bool, HasType: true, Format: tensor.ND, Shape: tensor.Shape{2}}, "xy"},
		{file("xy", "dtype=27", "dims=1", "$Object.data=0,2", "data=ignored"),
			Header{DType: tensor.BFloat16, HasType: true, Format: tensor.ND, Shape: tensor.Shape{1}}, "xy"},
	} {
		got, err := read(test.file)
		if err != nil {
			t.Errorf("%q: %v", test.file, err)
			continue
		}
		if diff := cmp.Diff(&test.want, got, cmpopts.IgnoreFields(Header{}, "Data")); diff != "" {
			t.Errorf("%q:\n%s", test.file, diff)
		}
		if b, err := io.ReadAll(got.Data); err != nil || string(b) != test.data {
			t.Errorf("%q: data %q, error %v", test.file, b, err)
		}
	}
	link, err := read(file("", "dtype=1", "dims=2", "data=../x/outtensor0.bin"))
	if err != nil || link.Link != "../x/outtensor0.bin" || link.Data != nil {
		t.Errorf("%+v, %v", link, err)
	}
	only, err := read(file("", "dtype=1", "dims=2,7"))
	if !errors.Is(err, ErrNoData) || !only.Shape.Equal(tensor.Shape{2, 7}) || only.DType != tensor.Float16 {
		t.Errorf("%+v, %v", only, err)
	}
}

// malformed are invalid files and their errors.
var malformed = []struct {
	file string
	want string
}{
	{"", "at 0x0: the header is cut off: no $End=1 in 0 bytes"},
	{"$Version=1.0", "at 0xc: the header is cut off"},
	{"$Version=1.0\n$End=1", "at 0x13: the header is cut off"},
	{"$Version=1.0\n" + strings.Repeat("x=", maxHeader), "at 0x10000: the header is cut off: no $End=1 in 65536 bytes"},
	{"$Version=1.0\nabc\n$End=1\n", `at 0xd: found "abc" in the header, want KEY=VALUE`},
	{"$Version=1.0\ndtype=1\ndtype=2\n$End=1\n", "at 0x15: duplicate dtype in the header"},
	{string(file("", "dtype=5")), "dtype: the element type 5 is unknown"},
	{string(file("", "dtype=x")), `dtype: found "x", want integers from 0`},
	{string(file("", "dtype=1,2")), `dtype: found "1,2", want 1 values`},
	{string(file("", "dims=3,-1")), `dims: found "3,-1"`},
	{string(file("", "dims=3,,4")), `dims: found "3,,4"`},
	{string(file("", "dims=99999999999999999999")), `dims: found "99999999999999999999"`},
	{string(file("", "format=-2")), `format: found "-2"`},
	{string(file("ab", "dtype=1", "dims=1", "$Object.data=2")), `$Object.data: found "2", want 2 values`},
	{string(file("ab", "dtype=1", "dims=1", "$Object.data=0,3")), "$Object.data has 3 bytes from 0 on, but 2 bytes follow the header"},
	{string(file("ab", "dtype=1", "dims=1", "$Object.data=3,0")), "$Object.data has 0 bytes from 3 on"},
	{string(file("ab", "dtype=1", "dims=1", "$Object.data=9223372036854775807,9223372036854775807")), "but 2 bytes follow the header"},
	{string(file("ab", "dtype=1", "dims=2", "$Object.data=0,2")), "(2,) elements of float16 need 4 bytes, found 2"},
	{string(file("ab", "dtype=1", "dims=4611686018427387904,4", "$Object.data=0,2")), "has too many elements"},
	{string(file("ab", "dims=1", "$Object.data=0,2")), "the header does not contain the element type"},
	{"$Version=1.0\n$Object.Length=9\n$End=1\nab", "$Object.Length is 9, but 2 bytes follow the header"},
	{string(file("", "dtype=1")), "the tensor was saved without data"},
}

func TestMalformed(t *testing.T) {
	for _, test := range malformed {
		if h, err := read([]byte(test.file)); h == nil || h.Data != nil || !strings.Contains(fmt.Sprint(err), test.want) {
			t.Errorf("%.80q: %+v, error %v, want %q", test.file, h, err, test.want)
		}
	}
	disk := errors.New("disk")
	if _, err := Read(failing{disk}, 10); !errors.Is(err, disk) {
		t.Errorf("error %v", err)
	}
}

type failing struct{ err error }

func (f failing) ReadAt([]byte, int64) (int, error) { return 0, f.err }

// TestTruncated cuts a file at every byte: no part has elements.
func TestTruncated(t *testing.T) {
	whole := file("abcdefgh", "format=2", "dtype=0", "dims=2", "$Object.data=0,8")
	for n := range whole {
		if h, err := read(whole[:n]); err == nil || h.Data != nil {
			t.Errorf("%d bytes are read", n)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(file("abcdefghijkl", "format=2", "dtype=1", "dims=2,3", "$Object.data=0,12"))
	f.Add(file("", "dtype=1", "dims=2", "data=../x/outtensor0.bin"))
	for _, test := range malformed {
		if len(test.file) < 1000 {
			f.Add([]byte(test.file))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := read(data)
		if h == nil || err != nil && h.Data != nil || err == nil && h.Data == nil && h.Link == "" {
			t.Fatalf("%+v, error %v", h, err)
		}
		if h.Data == nil {
			return
		}
		b, err := io.ReadAll(h.Data)
		if err != nil || h.Check(int64(len(b))) != nil || !bytes.HasSuffix(data[:int64(len(data))-h.Spare], b) {
			t.Errorf("data of %d bytes, error %v", len(b), err)
		}
	})
}
