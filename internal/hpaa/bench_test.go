package hpaa

import (
	"bytes"
	"encoding/hex"
	"testing"
)

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
