package jsonpos

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"

	"dumptool/internal/lang"
)

// bom is the byte order mark in UTF-8.
const bom = "\xef\xbb\xbf"

// encodingProblem recognises what is not worth reading as UTF-8.
func encodingProblem(src []byte) *Problem {
	if text, ok := FromUTF16(src); ok {
		p := &Problem{Cause: UTF16, Length: len(src), Message: lang.Sayf("the file is UTF-16; save it as UTF-8 without a byte order mark", "文件是 UTF-16，请保存为不带 BOM 的 UTF-8")}
		p.replace(string(text))
		return p
	}
	if i := bytes.IndexByte(src, 0); i >= 0 {
		return &Problem{Cause: Binary, Offset: i, Length: 1, Message: lang.Sayf("the file holds zero bytes and is no text", "文件含有零字节，不是文本")}
	}
	return nil
}

// FromUTF16 turns a text in UTF-16 into UTF-8 without a byte order mark. It
// takes text with a mark of its own, and text that starts with an ASCII
// character. It returns false when src is something else.
func FromUTF16(src []byte) ([]byte, bool) {
	if len(src) < 2 {
		return nil, false
	}
	order := binary.ByteOrder(binary.LittleEndian)
	switch a, b := src[0], src[1]; {
	case a == 0xff && b == 0xfe:
		src = src[2:]
	case a == 0xfe && b == 0xff:
		order, src = binary.BigEndian, src[2:]
	case a == 0 && b != 0 && b < utf8.RuneSelf && plausible(src, 0):
		order = binary.BigEndian
	case b == 0 && a != 0 && a < utf8.RuneSelf && plausible(src, 1):
	default:
		return nil, false
	}
	units := make([]uint16, 0, len(src)/2)
	for i := 0; i+1 < len(src); i += 2 {
		units = append(units, order.Uint16(src[i:]))
	}
	// A zero would make the result binary: keep the text readable.
	return bytes.ReplaceAll([]byte(string(utf16.Decode(units))), []byte{0}, []byte("\uFFFD")), true
}

// plausible reports whether most bytes at even or odd places are zero, as in
// UTF-16 text that is mostly ASCII.
func plausible(src []byte, parity int) bool {
	src = src[:min(len(src), 4096)]
	zero := 0
	for i := parity; i < len(src); i += 2 {
		if src[i] == 0 {
			zero++
		}
	}
	return 2*zero > (len(src)-parity)/2
}
