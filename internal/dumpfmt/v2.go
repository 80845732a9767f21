package dumpfmt

import (
	"cmp"
	"encoding/binary"
	"fmt"
)

// The binary dump, "version 2" of the Ascend toolkit, which every current
// runtime writes: u64 length of the header, the header (one DumpData message),
// then the bytes of every input, output, buffer and space back to back.

// lengthSize is the size of the header length at the start of a file.
const lengthSize = 8

// headerLength reads the u64 that a version 2 or TLV file starts with, and
// checks it against the file size.
func headerLength(s *scanner) (int64, error) {
	s.seek(0)
	if s.size <= lengthSize {
		return 0, broken(0, "file", fmt.Sprintf("of %d bytes", s.size), "is too short for a header")
	}
	b, err := s.peek(lengthSize, s.size)
	if err != nil {
		return 0, err
	}
	n, rest := binary.LittleEndian.Uint64(b), s.size-lengthSize
	if n > uint64(rest) {
		return 0, broken(0, "header length", count(n), exceeds(rest))
	}
	return int64(n), nil
}

func readV2(s *scanner) (d *Dump, sure bool, err error) {
	n, err := headerLength(s)
	sure, ioErr := s.versionAt(lengthSize)
	if err = cmp.Or(ioErr, err); err != nil {
		return nil, sure, err
	}
	s.seek(lengthSize)
	sk, err := walk(s, lengthSize+n, walkOptions{})
	if err != nil {
		return nil, sure, err
	}
	msg, err := sk.decode(lengthSize)
	if err != nil {
		return nil, sure, err
	}
	parts := listParts(msg, sk)
	if len(parts) == 0 && msg.GetVersion() == "" && msg.GetOpName() == "" {
		return nil, false, broken(lengthSize, "header", fmt.Sprintf("of %d bytes", n), "names neither operator nor tensor")
	}
	warnings := locate(parts, lengthSize+n, s.size)
	d = newDump(s.r, msg, parts)
	d.HeaderSize = n
	d.Warnings = append(d.Warnings, warnings...)
	return d, true, nil
}

// locate places the parts one after another from off to end, the file size.
// Bytes inside a descriptor are used where the descriptor claims no others,
// or where that makes the file whole: it is cut off otherwise, and the parts
// beyond its end have an error each.
func locate(parts []part, off, end int64) (warnings []string) {
	inline := func(p *part) bool { return p.inline && p.size == 0 }
	anyInline := func(p *part) bool { return p.inline }
	if !fit(parts, off, end, inline) && fit(parts, off, end, anyInline) {
		inline = anyInline
	}
	for i := range parts {
		p := &parts[i]
		if inline(p) {
			warnings = append(warnings, p.useInline()...)
			continue
		}
		off = p.place(off, end)
	}
	if spare := end - off; spare > 0 {
		warnings = append(warnings, fmt.Sprintf("%d spare bytes after the last tensor, at 0x%x", spare, off))
	}
	return warnings
}

// fit reports whether the parts that are not inline have room from off to end.
func fit(parts []part, off, end int64, inline func(*part) bool) bool {
	for i := range parts {
		p := &parts[i]
		if inline(p) {
			continue
		}
		if p.size > uint64(end-off) {
			return false
		}
		off += int64(p.size)
	}
	return true
}
