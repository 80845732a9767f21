package statusreg

import (
	"fmt"
	"strings"
)

// The third word of an errcode holds two parts of AIC_ERROR: 17 bits at its
// low end, and the rest of the register from bit 32 on.
const (
	lowPart  = 17
	highPart = 32
)

// AssembleErrcode returns the AIC_ERROR value of the words that logs of the
// CANN runtime show as errcode:(w0, w1, w2), or with a fourth word. The first
// two words are bits 0 to 127, the low 17 bits of w2 are bits 128 to 144, and
// its high half follows from bit 145.
//
// No source describes the other bits of w2 and the word w3. They are kept
// above the register, w2's at bit 177 and w3 at bit 192, so that different
// words always give different values.
func AssembleErrcode(w0, w1, w2, w3 uint64) Value {
	low := w2 & (1<<lowPart - 1)
	high := w2 >> highPart << lowPart
	gap := w2 >> lowPart & (1<<(highPart-lowPart) - 1) << (64 - (highPart - lowPart))
	return Value{w0, w1, low | high | gap, w3}
}

// ParseErrcode reads the form that logs use: errcode:(a, b, c), with three or
// four words, decimal or hexadecimal. The part before the parenthesis may be
// left out.
func ParseErrcode(text string) (Value, error) {
	v, msg := parseErrcode(text)
	if msg != "" {
		return Value{}, &ParseError{text, msg}
	}
	return v, nil
}

func parseErrcode(text string) (v Value, msg string) {
	const form = "wanted errcode:(a, b, c)"
	key, list, found := strings.Cut(strings.TrimSpace(text), "(")
	key = strings.TrimSpace(strings.TrimRight(strings.TrimSpace(key), ":="))
	list, closed := strings.CutSuffix(list, ")")
	if !found || !closed || key != "" && !strings.EqualFold(key, "errcode") {
		return Value{}, form
	}
	parts := strings.Split(list, ",")
	if len(parts) != 3 && len(parts) != 4 {
		return Value{}, fmt.Sprintf("number of words is %d, wanted 3 or 4", len(parts))
	}
	var words [4]uint64
	for i, part := range parts {
		w, msg := parseValue(strings.TrimSpace(part))
		if msg == "" && w != (Value{w[0]}) {
			msg = "has more than 64 bits"
		}
		if msg != "" {
			return Value{}, fmt.Sprintf("word %d: %s", i, msg)
		}
		words[i] = w[0]
	}
	return AssembleErrcode(words[0], words[1], words[2], words[3]), ""
}
