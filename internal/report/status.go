package report

import (
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/lang"
	"dumptool/internal/lists"
	"dumptool/internal/statusreg"
	"dumptool/internal/ui"
)

// writeStatus prints a decoded value: a line with the register and the value, then the meanings of
// its bits. where, unless empty, is a prefix.
func (p *printer) writeStatus(where string, r *statusreg.Result) {
	heading := fmt.Sprintf("%s %v (%v)", r.Register, decimal(r.Value), r.Value)
	if title := p.Lang.Text(r.Register.Title()); title != "" {
		heading += p.format(", ") + title
	}
	if where != "" {
		heading = where + p.format(": ") + heading
	}
	p.line("", heading)
	p.printBits(p.columnsOf(r))
}

// StatusList writes decoded values one at a time, as text or as a JSON list.
type StatusList struct {
	Text
	JSON bool
	W    io.Writer
	// Register is the register of values that name none.
	Register statusreg.Register
	// Values counts the values, Lines the searched lines. Numeric: some value concerns the computed
	// numbers.
	Values, Lines int
	Numeric       bool
}

// Explain writes the values found in a line of a text; line 0 is none.
func (l *StatusList) Explain(line int, values []statusreg.FoundValue) error {
	for _, v := range values {
		if v.Register == statusreg.None {
			v.Register = l.Register
		}
		decoded := statusreg.Decode(v.Register, v.Value)
		l.Numeric = l.Numeric || decoded.Numeric()
		if err := l.add(line, &decoded); err != nil {
			return err
		}
	}
	return nil
}

// Outcome returns the outcome of the list.
func (l *StatusList) Outcome() batch.Outcome {
	switch {
	case l.Values == 0:
		return batch.Outcomef(batch.Nothing, "no value found in %s", lang.CountText(l.Lines, "line"))
	case l.Numeric:
		return batch.Outcomef(batch.Found, "a value has a numeric cause").AsShown()
	}
	return batch.Outcome{}
}

// add writes a value of a line.
func (l *StatusList) add(line int, r *statusreg.Result) error {
	l.Values++
	p := l.printerTo(l.W)
	switch {
	case l.JSON && l.Values == 1:
		p.print("[\n" + string(statusJSON(r)))
	case l.JSON:
		p.print(",\n" + string(statusJSON(r)))
	case line > 0:
		p.writeStatus(p.format("line %d", line), r)
	default:
		p.writeStatus("", r)
	}
	return p.err
}

// Close ends the list.
func (l *StatusList) Close() error {
	end := ""
	switch {
	case l.JSON && l.Values == 0:
		end = "[]\n"
	case l.JSON:
		end = "\n]\n"
	}
	_, err := io.WriteString(l.W, end)
	return err
}

// decimal returns a value in decimal.
func decimal(v statusreg.Value) *big.Int {
	n := new(big.Int)
	for _, word := range slices.Backward(v[:]) {
		n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(word))
	}
	return n
}

// statusColumns are the columns of bits: their names, masks, meanings and advice.
type statusColumns struct{ bits, masks, meanings, advice []string }

// columnsOf lists documented and undocumented bits in order.
func (t Text) columnsOf(r *statusreg.Result) (c statusColumns) {
	entries := entriesOf(r)
	slices.SortStableFunc(entries, func(a, b statusreg.Entry) int { return a.Bit - b.Bit })
	for i := range entries {
		e := &entries[i]
		c.add(t.bit(e), shortMask(e), t.meaning(r.Register, e), t.Lang.Text(e.Advice))
	}
	if len(entries) == 0 {
		c.add("", "", t.zeroMeaning(r.Register), "")
	}
	return c
}

func (c *statusColumns) add(bit, mask, meaning, advice string) {
	c.bits, c.masks = append(c.bits, bit), append(c.masks, mask)
	c.meanings, c.advice = append(c.meanings, meaning), append(c.advice, advice)
}

// zeroMeaning returns the meaning of 0 in a register without a documented one.
func (t Text) zeroMeaning(r statusreg.Register) string {
	switch r {
	case statusreg.AICore, statusreg.DHA:
		return t.format("no bit is set: no overflow")
	case statusreg.AICPU:
		return t.format("no error code")
	}
	return t.format("no bit is set")
}

// bit names the bit or the code.
func (t Text) bit(e *statusreg.Entry) string {
	switch {
	case e.IsCode:
		return t.format("code %d", e.Code)
	case e.Global >= 0:
		return t.format("bit %d (number %d)", e.Bit, e.Global)
	}
	return t.format("bit %d", e.Bit)
}

// shortMask returns the mask; for a bit beyond 64 a shift, since the mask would be mostly zeros.
func shortMask(e *statusreg.Entry) string {
	if e.Bit >= 64 {
		return fmt.Sprintf("1<<%d", e.Bit)
	}
	return e.Mask.String()
}

// meaning returns the meaning of a bit. The names of AIC_ERROR's bits are used by logs and
// documents and so are shown; names of other registers are our own.
func (t Text) meaning(r statusreg.Register, e *statusreg.Entry) string {
	if !e.IsDocumented() {
		return t.format("not documented") + t.remark(t.Lang.Text(e.Note))
	}
	text := t.Lang.Text(e.Meaning)
	if r == statusreg.AICError && !e.Mask.IsZero() {
		text = e.Name + t.format(": ") + text
	}
	if e.Unofficial {
		text += t.remark(t.format("unofficial"))
	}
	return text + t.remark(t.Lang.Text(e.Note))
}

func (t Text) remark(text string) string {
	if text == "" {
		return ""
	}
	return t.format(" (") + text + ")"
}

// printBits prints columns; the last two are wrapped if the terminal is too narrow.
func (p *printer) printBits(c statusColumns) {
	head, meaning, advice, beside := 0, widestCell(c.meanings), widestCell(c.advice), true
	bit, mask := widestCell(c.bits)+columnGap, widestCell(c.masks)+columnGap
	if c.bits[0] != "" {
		head = bit + mask
	}
	if p.Width > 0 {
		meaning, advice, beside = splitWidth(p.Width-len(textIndent)-head, meaning, advice)
	}
	for i := range c.bits {
		lead := ""
		if head > 0 {
			lead = pad(c.bits[i], bit) + pad(c.masks[i], mask)
		}
		left, right := ui.Wrap(c.meanings[i], meaning, meaning), ui.Wrap(c.advice[i], advice, advice)
		if !beside && c.advice[i] != "" {
			for _, line := range right {
				left = append(left, textIndent+line)
			}
			right = nil
		}
		for j := range max(len(left), len(right)) {
			line := lead
			if j < len(left) {
				line += left[j]
			}
			if j < len(right) {
				line = pad(line, head+meaning+columnGap) + right[j]
			}
			p.print(strings.TrimRight(textIndent+line, " ") + "\n")
			lead = pad("", head)
		}
	}
}

// splitWidth divides the width of a terminal between two texts of the given widths. beside is false if
// they should be printed one below the other.
func splitWidth(width, room, right int) (l, r int, beside bool) {
	const least = 24 // columns of readable text
	switch {
	case right == 0:
		return max(width, 1), 0, true
	case width < 2*least+columnGap:
		return max(width, 1), max(width-len(textIndent), 1), false
	}
	width -= columnGap
	if room+right > width {
		// The longer text gets more, but neither gets less than the smaller of its need and 2/5.
		l = width * room / (room + right)
		l = max(l, min(room, width*2/5))
		l = min(l, max(width-right, width*3/5))
		room, right = l, width-l
	}
	return room, right, true
}

// statusJSON returns a decoded value as a JSON object on one line. Numbers are strings in hex,
// since many JSON readers lose digits beyond 53 bits.
func statusJSON(r *statusreg.Result) []byte {
	return marshal(struct {
		Value    string           `json:"value"`
		Register string           `json:"register"`
		Bits     Table[wordEntry] `json:"bits"`
		Unknown  string           `json:"unknown"`
	}{r.Value.String(), r.Register.String(), Table[wordEntry]{entryColumns(), asEntries(r.Entries, nil)}, r.Unknown.String()}, "")
}

// wordEntry is a documented bit, or a code in a field, of one of several status words. word is nil
// if there is only one word.
type wordEntry struct {
	statusreg.Entry
	word *int
}

func asEntries(entries []statusreg.Entry, word *int) []wordEntry {
	return lists.Map(entries, func(e statusreg.Entry) wordEntry { return wordEntry{e, word} })
}

// wordEntries lists the entries of status words.
func wordEntries(words []statusreg.Result, entries func(*statusreg.Result) []statusreg.Entry) (all []wordEntry) {
	for i := range words {
		all = append(all, asEntries(entries(&words[i]), pointer(i, len(words) > 1))...)
	}
	return all
}

// entryColumns are all columns of an entry.
func entryColumns() []Column[wordEntry] {
	return []Column[wordEntry]{
		textColumn("mask", func(e wordEntry) string { return e.Mask.String() }),
		textColumn("name", func(e wordEntry) string { return e.Name }),
		textColumn("en", func(e wordEntry) string { return e.Meaning.String() }),
		textColumn("zh", func(e wordEntry) string { return e.Meaning.Chinese() }),
		textColumn("advice", func(e wordEntry) string { return e.Advice.String() }),
		textColumn("code", func(e wordEntry) *uint64 { return pointer(e.Code, e.IsCode) }).emptyIfZero(),
		textColumn("number", func(e wordEntry) *int { return pointer(e.Global, e.Global >= 0) }).emptyIfZero(),
		textColumn("word", func(e wordEntry) *int { return e.word }).emptyIfZero(),
		textColumn("numeric", func(e wordEntry) bool { return e.Numeric }).emptyIfZero(),
		textColumn("unofficial", func(e wordEntry) bool { return e.Unofficial }).emptyIfZero(),
		textColumn("note", func(e wordEntry) string {
			if e.word != nil && *e.word > 0 {
				return furtherWord.String()
			}
			return e.Note.String()
		}).emptyIfZero(),
	}
}

// furtherWord is a remark on causes in the status words of version 1 that no public source
// describes.
var furtherWord = lang.Text{
	EN: "status words after the first are not documented: the meaning may not apply",
}
