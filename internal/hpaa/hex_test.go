package hpaa

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"testing"
)

// TestHexGroups: every byte at every place of a group is a digit or is not, as it is for
// the standard library, and nothing is written behind what is reported.
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
				skip, groups = 1, 1 // the text has an x at the end of the second group
			}
			dst := bytes.Repeat([]byte{0xa5}, 20)
			written, read := hexGroups(dst, src)
			if written != 8*groups || read != 16*groups+skip || !bytes.Equal(dst[:written], want[:written]) || !bytes.Equal(dst[written:], bytes.Repeat([]byte{0xa5}, 20-written)) {
				t.Fatalf("%q: %x of %d digits, want %x of %d", src, dst[:written], read, want[:8*groups], 16*groups+skip)
			}
		}
	}
	for range 2000 { // lines of any length, and little room
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
