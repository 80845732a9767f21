package dumpconf

// utf16Offsets returns what turns offsets in a text that was read as UTF-8 into
// offsets in the UTF-16 file of a size that it came from.
func utf16Offsets(text []byte, size int) func(at int) int {
	const step = 4096
	counts := []int{0} // units before every step-th byte of the text
	for i := step; i <= len(text); i += step {
		counts = append(counts, counts[len(counts)-1]+units(text[i-step:i]))
	}
	before := func(at int) int { return counts[at/step] + units(text[at/step*step:at]) }
	mark := (size - 2*before(len(text))) &^ 1 // bytes of the byte order mark
	return func(at int) int { return min(mark+2*before(min(at, len(text))), size) }
}

// units counts the 16-bit units of the characters that start in text.
func units(text []byte) int {
	n := 0
	for _, c := range text {
		if c&0xc0 != 0x80 {
			n++
		}
		if c >= 0xf0 {
			n++
		}
	}
	return n
}

// toUTF16 moves findings in a text to their places in the UTF-16 file it came from.
// Edits make sense in UTF-8 only; the one that turns the whole file into UTF-8 stays.
func toUTF16(findings []Finding, text []byte, size int) {
	offset := utf16Offsets(text, size)
	move := func(p *Place) {
		start, end := offset(p.Offset), offset(p.Offset+p.Length)
		p.Offset, p.Length = start, end-start
	}
	for i := range findings {
		f := &findings[i]
		if f.wholeFile {
			continue
		}
		f.Edits = nil
		move(&f.Place)
		for j := range f.Related {
			move(&f.Related[j].Place)
		}
	}
}
