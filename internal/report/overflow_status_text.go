package report

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"dumptool/internal/statusreg"
)

// StatusText says how decoded values are printed for people.
type StatusText struct {
	Lang Lang
	// Width is the number of columns of the terminal; 0 breaks no lines.
	Width int
}

// Append appends a decoded value: a line with the register and the value, then
// what its bits mean. where, unless empty, stands before it.
func (s StatusText) Append(dst []byte, where string, r *statusreg.Result) []byte {
	heading := fmt.Sprintf("%s %v (%v)", r.Register, decimal(r.Value), r.Value)
	if title := s.Lang.Text(r.Register.Title()); title != "" {
		heading += s.choose(", ", "，") + title
	}
	if where != "" {
		heading = where + s.choose(": ", "：") + heading
	}
	for i, line := range wrap(heading, s.Width, s.Width-len(statusIndent)) {
		if i > 0 {
			dst = append(dst, statusIndent...)
		}
		dst = append(dst, line+"\n"...)
	}
	for _, line := range s.columns(s.rows(r)) {
		dst = append(dst, statusIndent+line+"\n"...)
	}
	return dst
}

// Line names the line of a text.
func (s StatusText) Line(n int) string {
	return fmt.Sprintf(s.choose("line %d", "第 %d 行"), n)
}

const statusIndent = "  "

// choose returns one of two texts that are no data.
func (s StatusText) choose(en, zh string) string {
	return s.Lang.Text(statusreg.Text{EN: en, ZH: zh})
}

// decimal returns a value in decimal.
func decimal(v statusreg.Value) *big.Int {
	n := new(big.Int)
	for _, word := range slices.Backward(v[:]) {
		n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(word))
	}
	return n
}

// statusRow is one bit: which one it is, its mask, what it means and what to do.
type statusRow struct {
	bit, mask, meaning, advice string
}

// rows lists documented and other bits in their order.
func (s StatusText) rows(r *statusreg.Result) []statusRow {
	entries := slices.Concat(r.Entries, r.Undocumented())
	slices.SortStableFunc(entries, func(a, b statusreg.Entry) int { return a.Bit - b.Bit })
	if len(entries) == 0 {
		return []statusRow{{meaning: s.nothing(r.Register)}}
	}
	rows := make([]statusRow, len(entries))
	for i := range entries {
		e := &entries[i]
		rows[i] = statusRow{bit: s.bit(e), mask: shortMask(e), meaning: s.meaning(r.Register, e), advice: s.Lang.Text(e.Advice)}
	}
	return rows
}

// nothing says what it means that a register without a meaning of 0 is 0.
func (s StatusText) nothing(r statusreg.Register) string {
	switch r {
	case statusreg.AICore, statusreg.DHA:
		return s.choose("no bit is set: no overflow", "未置位：无溢出")
	case statusreg.AICPU:
		return s.choose("no error code", "无错误码")
	}
	return s.choose("no bit is set", "未置位")
}

// bit names the bit or the code.
func (s StatusText) bit(e *statusreg.Entry) string {
	switch {
	case e.IsCode:
		return fmt.Sprintf(s.choose("code %d", "错误码 %d"), e.Code)
	case e.Global >= 0:
		return fmt.Sprintf(s.choose("bit %d (number %d)", "第 %d 位(编号 %d)"), e.Bit, e.Global)
	}
	return fmt.Sprintf(s.choose("bit %d", "第 %d 位"), e.Bit)
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
func (s StatusText) meaning(r statusreg.Register, e *statusreg.Entry) string {
	if !e.Known() {
		return s.choose("not documented", "未公开") + s.remark(s.Lang.Text(e.Note))
	}
	text := s.Lang.Text(e.Meaning)
	if r == statusreg.AICError && !e.Mask.IsZero() {
		text = e.Name + s.choose(": ", "：") + text
	}
	if e.Unofficial {
		text += s.remark(s.choose("unofficial", "非官方"))
	}
	return text + s.remark(s.Lang.Text(e.Note))
}

func (s StatusText) remark(text string) string {
	if text == "" {
		return ""
	}
	return s.choose(" (", "(") + text + ")"
}

// columns lays rows out in columns, the last two of which are broken into
// lines where the terminal is too narrow for them.
func (s StatusText) columns(rows []statusRow) []string {
	bit := widest(rows, func(r *statusRow) string { return r.bit })
	mask := widest(rows, func(r *statusRow) string { return r.mask })
	meaning := widest(rows, func(r *statusRow) string { return r.meaning })
	advice := widest(rows, func(r *statusRow) string { return r.advice })
	head := bit + mask
	if bit > 0 {
		head += 2 * columnGap
	}
	beside := true
	if s.Width > 0 {
		meaning, advice, beside = share(s.Width-len(statusIndent)-head, meaning, advice)
	}
	var lines []string
	for i := range rows {
		r := &rows[i]
		left, right := wrap(r.meaning, meaning, meaning), wrap(r.advice, advice, advice)
		if !beside && r.advice != "" {
			for _, line := range right {
				left = append(left, statusIndent+line)
			}
			right = nil
		}
		for j := range max(len(left), len(right)) {
			var line strings.Builder
			if j == 0 && bit > 0 {
				line.WriteString(pad(r.bit, bit+columnGap) + pad(r.mask, mask+columnGap))
			} else {
				line.WriteString(strings.Repeat(" ", head))
			}
			if j < len(left) {
				line.WriteString(left[j])
			}
			if j < len(right) && right[j] != "" {
				space := meaning + columnGap
				if j < len(left) {
					space -= metric.StringWidth(left[j])
				}
				line.WriteString(strings.Repeat(" ", space) + right[j])
			}
			lines = append(lines, line.String())
		}
	}
	return lines
}

// share divides the columns of a terminal between two texts of the given
// widths. beside is false where they had better stand below each other.
func share(width, left, right int) (l, r int, beside bool) {
	const least = 24 // columns of a text that can be read
	switch {
	case right == 0:
		return max(width, 1), 0, true
	case width < 2*least+columnGap:
		return max(width, 1), max(width-len(statusIndent), 1), false
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

// widest returns the columns that the widest of some cells takes.
func widest(rows []statusRow, cell func(*statusRow) string) int {
	width := 0
	for i := range rows {
		width = max(width, metric.StringWidth(cell(&rows[i])))
	}
	return width
}
