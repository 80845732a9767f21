package dumpconf

// utf16Map turns offsets in a text that was read as UTF-8 into offsets in the
// UTF-16 file it came from.
type utf16Map struct {
	text  []byte
	size  int   // of the file
	mark  int   // bytes of the byte order mark
	units []int // 16-bit units before every utf16Step-th byte of the text
}

const utf16Step = 4096

func newUTF16Map(text []byte, size int) *utf16Map {
	m := &utf16Map{text: text, size: size, units: []int{0}}
	for i := utf16Step; i <= len(text); i += utf16Step {
		m.units = append(m.units, m.units[len(m.units)-1]+units(text[i-utf16Step:i]))
	}
	m.mark = (size - 2*m.unitsBefore(len(text))) &^ 1
	return m
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

func (m *utf16Map) unitsBefore(at int) int {
	i := at / utf16Step
	return m.units[i] + units(m.text[i*utf16Step:at])
}

func (m *utf16Map) offset(at int) int {
	return min(m.mark+2*m.unitsBefore(min(at, len(m.text))), m.size)
}

func (m *utf16Map) place(p Place) Place {
	end := m.offset(p.Offset + p.Length)
	p.Offset = m.offset(p.Offset)
	p.Length = end - p.Offset
	return p
}

// apply moves findings into the file. Edits make sense in UTF-8 only; the one
// that turns the whole file into UTF-8 stays.
func (m *utf16Map) apply(findings []Finding) {
	for i := range findings {
		f := &findings[i]
		if f.wholeFile {
			continue
		}
		f.Edits = nil
		f.Place = m.place(f.Place)
		for j := range f.Related {
			f.Related[j].Place = m.place(f.Related[j].Place)
		}
	}
}
