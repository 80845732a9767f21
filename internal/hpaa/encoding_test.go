package hpaa

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dumptool/internal/tensor"
)

// slowDecode decodes a text number by number.
func slowDecode(e Encoding, text string) ([]byte, error) {
	var data []byte
	text = strings.TrimPrefix(text, "\ufeff")
	size := map[Encoding]int{Hex0x: 1, Words16: 2, Words32: 4, Words64: 8}[e]
	for _, number := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n,\v\f", r) }) {
		if e == Hex {
			part, err := hex.DecodeString(number)
			if err != nil {
				return nil, err
			}
			data = append(data, part...)
			continue
		}
		digits, ok := strings.CutPrefix(strings.ToLower(number), "0x")
		if !ok && e == Hex0x {
			return nil, fmt.Errorf("%q has no 0x", number)
		}
		part, err := hex.DecodeString(digits)
		if err != nil || len(part) != size {
			return nil, fmt.Errorf("%q is no number of %d bytes", number, size)
		}
		slices.Reverse(part)
		data = append(data, part...)
	}
	return data, nil
}

// readAll reads a text in blocks of some size as uint8.
func readAll(t testing.TB, e Encoding, text string, block int) ([]byte, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "piece")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	s := &openPiece{Piece: &Piece{File: "piece", Path: path}, encoding: e, dtype: tensor.Uint8, shape: tensor.Shape{0}, size: int64(len(text))}
	r := newReader(s, newBuffers(block), block%2 == 0)
	defer r.Close()
	var data []byte
	for {
		part, err := r.next(int64(block))
		if err != nil || len(part) == 0 {
			return data, err
		}
		data = append(data, part...)
	}
}

func TestDecodeAgainstSlow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		e := rapid.SampledFrom([]Encoding{Hex, Hex0x, Words16, Words32, Words64}).Draw(rt, "encoding")
		size := map[Encoding]int{Hex: 1, Hex0x: 1, Words16: 2, Words32: 4, Words64: 8}[e]
		var text strings.Builder
		if rapid.Bool().Draw(rt, "mark") {
			text.WriteString("\ufeff")
		}
		for range rapid.IntRange(0, 300).Draw(rt, "numbers") {
			if e == Hex0x || e != Hex && rapid.Bool().Draw(rt, "0x") {
				text.WriteString(rapid.SampledFrom([]string{"0x", "0X"}).Draw(rt, "prefix"))
			}
			digits := hex.EncodeToString(rapid.SliceOfN(rapid.Byte(), size, size).Draw(rt, "bytes"))
			if rapid.Bool().Draw(rt, "upper") {
				digits = strings.ToUpper(digits)
			}
			text.WriteString(digits)
			separators := []string{" ", "\n", "\r\n", ", ", "\t \n"}
			if e == Hex {
				separators = append(separators, "", "", "", "", "", "", "")
			}
			text.WriteString(rapid.SampledFrom(separators).Draw(rt, "separator"))
		}
		want, err := slowDecode(e, text.String())
		if err != nil {
			rt.Fatal(err)
		}
		got, err := readAll(t, e, text.String(), rapid.IntRange(1, 200).Draw(rt, "block"))
		if err != nil || !slices.Equal(got, want) {
			rt.Fatalf("%s %q: got %x, %v, want %x", e, text.String(), got, err, want)
		}
	})
}

func TestDecodeErrors(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("00", 500) + "\n"
	tests := []struct {
		e          Encoding
		text, want string
	}{
		{Hex, "00 1g 22", `line 1, column 5: found "g", want the second digit of a byte (hex)`},
		{Hex, "00\n1\n22", `line 2, column 2: found "\n", want the second digit of a byte (hex)`},
		{Hex, "00 1", `line 1, column 5: found the end of the file, want the second digit of a byte (hex)`},
		{Hex, "0x00", `line 1, column 2: found "x", want the second digit of a byte (hex)`},
		{Hex, "\ufeff0\x00", `line 1, column 5: found "\x00", want the second digit of a byte (hex)`},
		{Hex, long + "zz", `line 2, column 1: found "z", want a hex digit (hex)`},
		{Hex, strings.Repeat("00 ", 500) + "\r\n12 \xff", `line 2, column 4: found "\xff", want a hex digit (hex)`},
		{Hex0x, "0x00 12", `line 1, column 6: found "1", want 0x (hex0x)`},
		{Hex0x, "0x00 0y12", `line 1, column 7: found "y", want 0x (hex0x)`},
		{Hex0x, "0x1 0x22", `line 1, column 4: found " ", want digit 2 of 2 (hex0x)`},
		{Hex0x, "0x123", `line 1, column 5: found "3", want a separator behind 2 digits (hex0x)`},
		{Hex0x, "0x12 0x", `line 1, column 8: found the end of the file, want a hex digit (hex0x)`},
		{Words16, "bd75\nbd7\n0000", `line 2, column 4: found "\n", want digit 4 of 4 (words16)`},
		{Words16, "bd75bd41", `line 1, column 5: found "b", want a separator behind 4 digits (words16)`},
		{Words32, "0xbd75bd4x", `line 1, column 10: found "x", want digit 8 of 8 (words32)`},
		{Words64, "bd75bd41bd75bd41,-1", `line 1, column 18: found "-", want a hex digit (words64)`},
	}
	for _, tt := range tests {
		for _, block := range []int{1, 64, 4096} {
			_, err := readAll(t, tt.e, tt.text, block)
			var piece *PieceError
			if !errors.As(err, &piece) || piece.Code != BadHex || piece.Error() != tt.want {
				t.Errorf("%s %.40q in blocks of %d: %v, want %s", tt.e, tt.text, block, err, tt.want)
			}
			if _, err := slowDecode(tt.e, tt.text); err == nil {
				t.Errorf("%s %.40q: the slow decoder takes it", tt.e, tt.text)
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	for i, e := range Encodings {
		for _, text := range []string{"00 1g 22", "0x00 0x12", "bd75\nbd7\n0000", "bd75 bd41", "bd75bd41bd75bd41,0x", "\ufeff00", strings.Repeat("0123456789abcdef", 9) + "\n0"} {
			f.Add(text, byte(i), byte(len(text)))
		}
		_ = e
	}
	f.Fuzz(func(t *testing.T, text string, kind, block byte) {
		e := Encodings[int(kind)%len(Encodings)]
		if textForms[e] == nil {
			return
		}
		want, slow := slowDecode(e, text)
		got, err := readAll(t, e, text, int(block)+1)
		if (err == nil) != (slow == nil) || err == nil && !slices.Equal(got, want) {
			t.Fatalf("%s %q: %x, %v, want %x, %v", e, text, got, err, want, slow)
		}
	})
}

func TestFinish(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "piece")
	if err := os.WriteFile(path, []byte("00 11 22"), 0o666); err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int64]string{3: "", 2: "found 3 bytes, want 2 for (2,) of uint8", 4: "found 3 bytes, want 4 for (4,) of uint8"} {
		s := &openPiece{Piece: &Piece{Path: path}, encoding: Hex, dtype: tensor.Uint8, shape: tensor.Shape{n}, size: 8, wantBytes: n}
		err := s.checkData(context.Background(), newBuffers(64))
		if got := fmt.Sprint(err); want != "" && got != want || want == "" && err != nil {
			t.Errorf("%d: %v, want %q", n, err, want)
		}
	}
}

func TestDetect(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tests := []struct {
		text  string
		shape tensor.Shape
		dtype tensor.DType
		want  string
	}{
		{"abcd", tensor.Shape{2}, tensor.Float16, "bin"},
		{"00 11 22 33", tensor.Shape{2}, tensor.Float16, "hex"},
		{"001122\n33", tensor.Shape{2}, tensor.Float16, "hex"},
		{"0x00 0x11", tensor.Shape{1}, tensor.Float16, "hex0x"},
		{"0x0011, 0x2233", tensor.Shape{2}, tensor.Float16, "words16"},
		{"0x00112233", tensor.Shape{1}, tensor.Float32, "words32"},
		{"0x0011223344556677", tensor.Shape{1}, tensor.Int64, "words64"},
		{"0011\n2233\n", tensor.Shape{2}, tensor.Float16, "4 digits in a row are hex or a number of words16"},
		{"0x001 0x222", tensor.Shape{2}, tensor.Float16, "with 0x have 2, 4, 8 or 16 digits"},
		{"0x00 11", tensor.Shape{1}, tensor.Float16, "no hex text"},
		{"hello world", tensor.Shape{2}, tensor.Float16, "found 11 bytes that are no hex text, want 4 for (2,) of float16"},
		{"", tensor.Shape{2}, tensor.Float16, "no hex text"},
		{"", tensor.Shape{0}, tensor.Float16, "bin"},
		{strings.Repeat("0123456789abcdef\n", 1000), tensor.Shape{8000}, tensor.Uint8, "words64"},
		{strings.Repeat("0123456789abcdef01\n", 1000), tensor.Shape{9000}, tensor.Uint8, "hex"},
	}
	for i, tt := range tests {
		path := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(path, []byte(tt.text), 0o666); err != nil {
			t.Fatal(err)
		}
		s, bad := describePiece(&Piece{File: "p", Path: path, Shape: tt.shape, DType: tt.dtype, Encoding: Auto}, hints{})
		got := ""
		if bad != nil {
			got = bad.Error()
		} else {
			got = string(s.encoding)
		}
		if got != tt.want && (bad == nil || !strings.Contains(got, tt.want)) {
			t.Errorf("%.30q: %s, want %s", tt.text, got, tt.want)
		}
	}
}

// TestHexGroups: every byte at every place of a group is a digit exactly if the standard library
// says so, and nothing is written behind the reported length.
func TestHexGroups(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 6))
	for c := range 256 {
		for at := range 16 {
			src := []byte("0123456789abcdefABCDEF9876543210x")
			src[at] = byte(c)
			want := make([]byte, 16)
			groups := 2
			if _, err := hex.Decode(want, src[:32]); err != nil {
				groups = 0
			}
			skip := 0
			if c == '\n' && at == 0 { // a line end, and the digits after it
				hex.Decode(want, src[1:33])
				skip, groups = 1, 1 // the x is at the end of the second group
			}
			dst := bytes.Repeat([]byte{0xa5}, 20)
			written, read := hexGroups(dst, src)
			if written != 8*groups || read != 16*groups+skip || !bytes.Equal(dst[:written], want[:written]) || !bytes.Equal(dst[written:], bytes.Repeat([]byte{0xa5}, 20-written)) {
				t.Fatalf("%q: %x of %d digits, want %x of %d", src, dst[:written], read, want[:8*groups], 16*groups+skip)
			}
		}
	}
	for range 2000 { // lines of any length, and little space
		data := make([]byte, random.IntN(200))
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		text := []byte(hex.EncodeToString(data))
		for k := 1 + random.IntN(40); k < len(text); k += 1 + random.IntN(80) {
			text = append(text[:k], append([]byte{'\n'}, text[k:]...)...)
		}
		dst := make([]byte, random.IntN(len(data)+1))
		written, read := hexGroups(dst, text)
		if digits := bytes.ReplaceAll(text[:read], []byte("\n"), nil); 2*written != len(digits) || !bytes.Equal(dst[:written], data[:written]) {
			t.Fatalf("%q: %x of %d bytes, want %x", text, dst[:written], read, data[:written])
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	data := make([]byte, 1<<19)
	for i := range data {
		data[i] = byte(i * 7)
	}
	text := []byte(hex.EncodeToString(data))
	var lines, spaced, words bytes.Buffer
	for i := 0; i < len(text); i += 64 {
		lines.Write(text[i : i+64])
		lines.WriteByte('\n')
	}
	for i := 0; i < len(text); i += 2 {
		spaced.Write(text[i : i+2])
		spaced.WriteByte(' ')
	}
	for i := 0; i < len(text); i += 4 {
		words.Write(text[i : i+4])
		words.WriteByte('\n')
	}
	for _, tt := range []struct {
		name string
		enc  Encoding
		text []byte
	}{{"plain", Hex, text}, {"lines", Hex, lines.Bytes()}, {"apart", Hex, spaced.Bytes()}, {"words16", Words16, words.Bytes()}} {
		b.Run(tt.name, func(b *testing.B) {
			dst := make([]byte, len(data))
			b.SetBytes(int64(len(tt.text)))
			for b.Loop() {
				n, _, bad := textForms[tt.enc].decode(dst, tt.text, true)
				if n != len(data) || bad != nil {
					b.Fatal(n, bad)
				}
			}
		})
	}
}
