package report

import (
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/lang"
	"dumptool/internal/statusreg"
	"dumptool/internal/ui"
)

// writeStatus writes a decoded value: a line with the register and the value, then
// what its bits mean. where, unless empty, stands before it.
func (p *printer) writeStatus(where string, r *statusreg.Result) {
	heading := fmt.Sprintf("%s %v (%v)", r.Register, decimal(r.Value), r.Value)
	if title := p.Lang.Text(r.Register.Title()); title != "" {
		heading += p.say(", ", "，") + title
	}
	if where != "" {
		heading = where + p.say(": ", "：") + heading
	}
	p.line("", heading)
	p.bits(p.columnsOf(r))
}

// StatusList writes decoded values as they come, as text or as a JSON list.
type StatusList struct {
	Text
	JSON bool
	W    io.Writer
	// Register is that of values that do not say theirs.
	Register statusreg.Register
	// Values counts the values, Lines the lines that were searched for some. Numeric is
	// set when a value is about the numbers that were computed.
	Values, Lines int
	Numeric       bool
}

// Explain writes the values that were found in a line of a text; 0 is none.
func (l *StatusList) Explain(line int, values []statusreg.Found) error {
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

// Outcome is how the list ended.
func (l *StatusList) Outcome() batch.Outcome {
	switch {
	case l.Values == 0:
		return batch.Outcomef(batch.Nothing, "no value found in %s", "%s中没有数值", lang.CountText(l.Lines, "line", "行"))
	case l.Numeric:
		return batch.Outcomef(batch.Found, "a value has a numeric cause", "有数值类原因").AsShown()
	}
	return batch.Outcome{}
}

// add writes a value of a line.
func (l *StatusList) add(line int, r *statusreg.Result) error {
	l.Values++
	p := l.to(l.W)
	switch {
	case l.JSON && l.Values == 1:
		p.print("[\n" + string(statusJSON(r)))
	case l.JSON:
		p.print(",\n" + string(statusJSON(r)))
	case line > 0:
		p.writeStatus(p.say("line %d", "第 %d 行", line), r)
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

// statusColumns are what bits of a value are: which ones, their masks, what they
// mean and what to do about them.
type statusColumns struct{ bits, masks, meanings, advice []string }

// columnsOf lists documented and other bits in their order.
func (t Text) columnsOf(r *statusreg.Result) (c statusColumns) {
	entries := entriesOf(r)
	slices.SortStableFunc(entries, func(a, b statusreg.Entry) int { return a.Bit - b.Bit })
	for i := range entries {
		e := &entries[i]
		c.add(t.bit(e), shortMask(e), t.meaning(r.Register, e), t.Lang.Text(e.Advice))
	}
	if len(entries) == 0 {
		c.add("", "", t.nothing(r.Register), "")
	}
	return c
}

func (c *statusColumns) add(bit, mask, meaning, advice string) {
	c.bits, c.masks = append(c.bits, bit), append(c.masks, mask)
	c.meanings, c.advice = append(c.meanings, meaning), append(c.advice, advice)
}

// nothing says what it means that a register without a meaning of 0 is 0.
func (t Text) nothing(r statusreg.Register) string {
	switch r {
	case statusreg.AICore, statusreg.DHA:
		return t.say("no bit is set: no overflow", "未置位：无溢出")
	case statusreg.AICPU:
		return t.say("no error code", "无错误码")
	}
	return t.say("no bit is set", "未置位")
}

// bit names the bit or the code.
func (t Text) bit(e *statusreg.Entry) string {
	switch {
	case e.IsCode:
		return t.say("code %d", "错误码 %d", e.Code)
	case e.Global >= 0:
		return t.say("bit %d (number %d)", "第 %d 位(编号 %d)", e.Bit, e.Global)
	}
	return t.say("bit %d", "第 %d 位", e.Bit)
}

// shortMask returns the mask; that of a bit which no 64-bit number has would
// be mostly zeros.
func shortMask(e *statusreg.Entry) string {
	if e.Bit >= 64 {
		return fmt.Sprintf("1<<%d", e.Bit)
	}
	return e.Mask.String()
}

// meaning says what the bit means. AIC_ERROR has names that logs and
// documents use; the names of other registers are our own.
func (t Text) meaning(r statusreg.Register, e *statusreg.Entry) string {
	if !e.Known() {
		return t.say("not documented", "未公开") + t.remark(t.Lang.Text(e.Note))
	}
	text := t.Lang.Text(e.Meaning)
	if r == statusreg.AICError && !e.Mask.IsZero() {
		text = e.Name + t.say(": ", "：") + text
	}
	if e.Unofficial {
		text += t.remark(t.say("unofficial", "非官方"))
	}
	return text + t.remark(t.Lang.Text(e.Note))
}

func (t Text) remark(text string) string {
	if text == "" {
		return ""
	}
	return t.say(" (", "(") + text + ")"
}

// bits prints columns, the last two of which are broken into lines where the
// terminal is too narrow for them.
func (p *printer) bits(c statusColumns) {
	head, meaning, advice, beside := 0, widest(c.meanings), widest(c.advice), true
	bit, mask := widest(c.bits)+columnGap, widest(c.masks)+columnGap
	if c.bits[0] != "" {
		head = bit + mask
	}
	if p.Width > 0 {
		meaning, advice, beside = share(p.Width-len(textIndent)-head, meaning, advice)
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

// share divides the columns of a terminal between two texts of the given
// widths. beside is false where they had better stand below each other.
func share(width, left, right int) (l, r int, beside bool) {
	const least = 24 // columns of a text that can be read
	switch {
	case right == 0:
		return max(width, 1), 0, true
	case width < 2*least+columnGap:
		return max(width, 1), max(width-len(textIndent), 1), false
	}
	width -= columnGap
	if left+right > width {
		// The longer text gets more, but neither less than it needs or 2/5.
		l = width * left / (left + right)
		l = max(l, min(left, width*2/5))
		l = min(l, max(width-right, width*3/5))
		left, right = l, width-l
	}
	return left, right, true
}

// statusJSON returns a decoded value as a JSON object on one line. Numbers of more
// than 53 bits do not survive every reader of JSON, so all of them are strings in
// hex.
func statusJSON(r *statusreg.Result) []byte {
	return marshal(struct {
		Value    string           `json:"value"`
		Register string           `json:"register"`
		Bits     Table[wordEntry] `json:"bits"`
		Unknown  string           `json:"unknown"`
	}{r.Value.String(), r.Register.String(), Table[wordEntry]{entryColumns(), asEntries(r.Entries, nil)}, r.Unknown.String()}, "")
}

// wordEntry is a documented bit, or a code in a field of bits: a part of one of
// several status words. word is nil for the only one.
type wordEntry struct {
	statusreg.Entry
	word *int
}

func asEntries(entries []statusreg.Entry, word *int) (all []wordEntry) {
	for _, e := range entries {
		all = append(all, wordEntry{e, word})
	}
	return all
}

// wordEntries lists the entries of status words.
func wordEntries(words []statusreg.Result, entries func(*statusreg.Result) []statusreg.Entry) (all []wordEntry) {
	for i := range words {
		all = append(all, asEntries(entries(&words[i]), pointer(i, len(words) > 1))...)
	}
	return all
}

// entryColumns are all that is known of an entry.
func entryColumns() []Column[wordEntry] {
	return []Column[wordEntry]{
		words("mask", func(e wordEntry) string { return e.Mask.String() }),
		words("name", func(e wordEntry) string { return e.Name }),
		words("en", func(e wordEntry) string { return e.Meaning.EN }),
		words("zh", func(e wordEntry) string { return e.Meaning.ZH }),
		words("advice", func(e wordEntry) string { return e.Advice.EN }),
		words("code", func(e wordEntry) *uint64 { return pointer(e.Code, e.IsCode) }).given(),
		words("number", func(e wordEntry) *int { return pointer(e.Global, e.Global >= 0) }).given(),
		words("word", func(e wordEntry) *int { return e.word }).given(),
		words("numeric", func(e wordEntry) bool { return e.Numeric }).given(),
		words("unofficial", func(e wordEntry) bool { return e.Unofficial }).given(),
		words("note", func(e wordEntry) string {
			if e.word != nil && *e.word > 0 {
				return furtherWord.EN
			}
			return e.Note.EN
		}).given(),
	}
}

// furtherWord is what to think of causes in the words of version 1 that no
// public source describes.
var furtherWord = lang.Text{
	EN: "status words after the first are not documented: the meaning may not apply",
	ZH: "首个以外的状态字未公开，含义可能不适用",
}
