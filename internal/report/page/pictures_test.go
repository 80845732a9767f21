package page

import (
	"bytes"
	"encoding/base64"
	"math/rand/v2"
	"testing"
)

// TestCells unpacks what was packed.
func TestCells(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 9))
	for range 500 {
		want := make([]byte, random.IntN(2000))
		for range random.IntN(60) * min(len(want), 1) {
			want[random.IntN(len(want))] = byte(random.Uint32())
		}
		text, err := cells(want).MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		packed, err := base64.StdEncoding.DecodeString(string(text))
		if err != nil {
			t.Fatal(err)
		}
		got := []byte{}
		for ; len(packed) > 0; packed = packed[1:] {
			if got = append(got, packed[0]); packed[0] != 0 {
				continue
			}
			got = append(got, make([]byte, packed[1]-1)...)
			packed = packed[1:]
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("%v is packed to %q", want, text)
		}
	}
}
