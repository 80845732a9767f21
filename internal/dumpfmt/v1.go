package dumpfmt

// The protobuf dump, "version 1" of the Ascend toolkit, which older runtimes
// wrote: the whole file is one DumpData message with the tensor bytes in the
// data fields of its outputs, inputs and buffers. No writer of it is alive, so
// unlike in version 2 an unknown field means that the file is something else.
// Where the file is cut off, the tensors before are kept; a file that ends
// exactly behind one looks whole.

func readV1(s *scanner) (d *Dump, sure bool, err error) {
	sure, err = s.versionAt(0)
	if err != nil {
		return nil, false, err
	}
	s.seek(0)
	sk, err := walk(s, s.size, walkOptions{strict: true, cut: sure})
	if err != nil {
		return nil, sure, err
	}
	msg, err := sk.decode(0)
	if err != nil {
		return nil, sure, err
	}
	parts := listParts(msg, sk)
	if !holdsData(parts, sure) {
		return nil, sure, broken(0, "message", "", "holds no tensor bytes")
	}
	warnings := sk.warnings
	for i := range parts {
		warnings = append(warnings, parts[i].useInline()...)
	}
	d = newDump(s.r, msg, parts)
	d.Warnings = append(d.Warnings, warnings...)
	return d, true, nil
}

// holdsData reports whether the parts have bytes. Where the message has a
// version, parts without bytes that claim none pass too.
func holdsData(parts []part, versioned bool) bool {
	claimed := false
	for i := range parts {
		if parts[i].inline && parts[i].n > 0 {
			return true
		}
		claimed = claimed || parts[i].size > 0
	}
	return versioned && len(parts) > 0 && !claimed
}
