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
	sk, err := walk(s, lengthSize+n, false)
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
	warnings, err := locate(parts, lengthSize+n, s.size)
	if err != nil {
		return nil, true, err
	}
	d = newDump(s.r, msg, parts)
	d.HeaderSize = n
	d.Warnings = append(d.Warnings, warnings...)
	return d, true, nil
}

// locate places the parts one after another from off to end, the file size.
// Bytes inside a descriptor are used where the descriptor claims no others,
// or where the claims of all could not be met without them.
func locate(parts []part, off, end int64) (warnings []string, err error) {
	inline := func(p *part) bool { return p.inline && p.size == 0 }
	if err := fit(parts, off, end, inline); err != nil {
		inline = func(p *part) bool { return p.inline }
		if fit(parts, off, end, inline) != nil {
			return nil, err
		}
	}
	for i := range parts {
		p := &parts[i]
		if inline(p) {
			warnings = append(warnings, p.useInline()...)
			continue
		}
		p.off, p.n, p.inline = off, int64(p.size), false
		off += p.n
	}
	if spare := end - off; spare > 0 {
		warnings = append(warnings, fmt.Sprintf("%d spare bytes after the last tensor, at 0x%x", spare, off))
	}
	return warnings, nil
}

// fit checks that the parts that are not inline have room from off to end.
func fit(parts []part, off, end int64, inline func(*part) bool) error {
	for i := range parts {
		p := &parts[i]
		if inline(p) {
			continue
		}
		if rest := end - off; p.size > uint64(rest) {
			return broken(off, p.String()+" data length", count(p.size), exceeds(rest))
		}
		off += int64(p.size)
	}
	return nil
}
