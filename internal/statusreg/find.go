package statusreg

import (
	"regexp"
	"slices"
	"strings"

	"dumptool/internal/lang"
)

// FoundValue is a value in a text.
type FoundValue struct {
	Register Register // the register named by the text, None if unnamed
	Value    Value
	Text     string // the part of the text that holds the value
	offset   int    // of Text
}

// FindInText finds values in one line of a log, of a decoded overflow record
// or of plain numbers:
//
//   - errcode:(a, b, c), with three or four words;
//   - AIC_ERROR=0x..., aic error: 0x..., and error code = 0x... where the line
//     is about a core; on Ascend 950 the error code is a list of error numbers,
//     and each number is a value of its register with one bit;
//   - dha status 1 info: 0x...;
//   - status: 272, "status": 32, Status:[0, 32, 0, 256], of the unit that was
//     named last before it;
//   - numbers, if the line has nothing else.
//
// Other numbers of a line, such as times and ids, are ignored. A Finder does the same for several
// consecutive lines.
func FindInText(line string) []FoundValue { return new(Finder).Find(line) }

// ParseText parses one number, or an excerpt of a log with values.
func ParseText(text string) ([]FoundValue, error) {
	v, err := ParseValue(text)
	if err == nil {
		return []FoundValue{{Value: v}}, nil
	}
	if found := FindInText(text); len(found) > 0 {
		return found, nil
	}
	if strings.Contains(strings.ToLower(text), "errcode") {
		_, err = ParseErrcode(text)
	}
	if strings.HasPrefix(text, "-") {
		err = lang.Errorf("value %q: registers have no sign", text)
	}
	return nil, err
}

// Finder finds values line by line. It remembers the unit named in an earlier line of indented
// JSON. The zero Finder is ready for use.
type Finder struct {
	unit   Register // unit of the current JSON
	inList bool     // between "status": [ and ]
}

// Find returns the values of the next line, in their order. See FindInText.
func (f *Finder) Find(line string) []FoundValue {
	if found := plainNumbers(line); found != nil {
		if f.inList {
			for i := range found {
				found[i].Register = f.unit
			}
		}
		f.inList = f.inList && !strings.Contains(line, "]")
		return found
	}
	lower := strings.ToLower(line)
	var found []FoundValue
	for i := range logForms {
		form := &logForms[i]
		if !strings.Contains(lower, form.hint) {
			continue
		}
		for _, m := range form.pattern().FindAllStringSubmatchIndex(line, -1) {
			found = append(found, form.values(form.register, line, m)...)
		}
	}
	if strings.Contains(lower, "status") {
		found = append(found, f.statusValues(line)...)
	}
	f.trackJSON(line)
	slices.SortStableFunc(found, func(a, b FoundValue) int { return a.offset - b.offset })
	return found
}

// trackJSON updates the JSON state.
func (f *Finder) trackJSON(line string) {
	if strings.HasPrefix(line, "}") || strings.Contains(line, `"magic"`) {
		f.unit = None
	}
	isObject := strings.HasPrefix(line, "{") && strings.HasSuffix(strings.TrimSpace(line), "}")
	if unit := lastUnit(quotedUnit(), line); unit != None && !isObject {
		f.unit = unit
	}
	f.inList = listStart().MatchString(line)
}

// Parts of the patterns. A number ends at a word boundary.
const (
	number     = `(?:0x[0-9a-f]+|[0-9]+)\b`
	hexNumber  = `(?:0x[0-9a-f]+|0)\b` // as C prints it: 0 has no prefix
	numberList = `\[\s*` + number + `(?:\s*,\s*` + number + `)*\s*\]`
	units      = `ai[ _]?core|aivec|aic|aiv|dha|l2|sdma|aicpu`
)

// logForm is a form of a value in logs.
type logForm struct {
	hint     string // occurs in every line of the form, lower case
	pattern  func() *regexp.Regexp
	register Register
	// values returns the values of a match; m holds the offsets of the pattern and its group.
	values func(r Register, line string, m []int) []FoundValue
}

var logForms = []logForm{
	{"errcode", lang.Pattern(`(?i)\berrcode\s*[:=]?\s*(\([^()]*\))`), AICError, parseErrcodeMatch},
	{"aic", lang.Pattern(`(?i)\baic[ _]error\s*[:=]\s*(` + hexNumber + `)`), AICError, wholeNumbers},
	{"dha status", lang.Pattern(`(?i)\bdha status [0-9]+ info\s*[:=]\s*(` + hexNumber + `)`), DHA, wholeNumbers},
	{"error code", lang.Pattern(`(?i)\berror code\s*=\s*[\[(]?\s*(0x[0-9a-f]+\b|[0-9]+\b(?:\s*,\s*[0-9]+\b)*)`), AICError, errorCodes},
}

var (
	numberToken = lang.Pattern(`(?i)\b` + number)
	jsonStatus  = lang.Pattern(`(?i)"status"\s*:\s*("?` + number + `"?|` + numberList + `)`)
	textStatus  = lang.Pattern(`(?i)\bstatus\s*[:=]\s*(` + number + `|` + numberList + `)`)
	listStart   = lang.Pattern(`(?i)"status"\s*:\s*\[[^\]]*$`)

	// A unit anywhere, as a JSON string, and directly before a status.
	anyUnit    = lang.Pattern(`(?i)\b(` + units + `)\b`)
	quotedUnit = lang.Pattern(`(?i)"(` + units + `)(?: atomic add)?"`)
	unitBefore = lang.Pattern(`(?i)\b(?:` + units + `)\b(?: atomic add)?$`)

	// A line about an exception of a core, with the id of the core, about a core of Ascend 950, and
	// about an overflow record.
	coreLine   = lang.Pattern(`(?i)\b(?:ai_?core|aivec|aic|aiv|core id)\b`)
	coreID     = lang.Pattern(`(?i)\bcore id\b`)
	davidLine  = lang.Pattern(`(?i)\b(?:chip|die) ?id\b`)
	recordLine = lang.Pattern(`(?i)overflow|op_?debug|kernel_code|pc_start|para_base|task_?id|溢出`)
)

// plainNumbers returns the values of a line that contains only numbers, commas and one pair of
// brackets.
func plainNumbers(line string) []FoundValue {
	text := strings.TrimSpace(line)
	text = strings.TrimSpace(strings.TrimSuffix(text, ","))
	text = strings.TrimLeft(text, "[(")
	text = strings.TrimRight(text, ")]")
	var found []FoundValue
	for _, word := range strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(", \t", c) }) {
		v, err := ParseValue(word)
		if err != nil {
			return nil
		}
		found = append(found, FoundValue{Value: v, Text: word})
	}
	return found
}

// parseErrcodeMatch parses the words in parentheses.
func parseErrcodeMatch(r Register, line string, m []int) []FoundValue {
	v, err := ParseErrcode(line[m[2]:m[3]])
	if err != nil {
		return nil
	}
	return []FoundValue{{r, v, line[m[0]:m[1]], m[0]}}
}

// wholeNumbers returns the numbers of a match that are not part of a larger token.
func wholeNumbers(r Register, line string, m []int) []FoundValue {
	if !endsNumber(line[m[3]:]) {
		return nil
	}
	var found []FoundValue
	for _, at := range numberToken().FindAllStringIndex(line[m[2]:m[3]], -1) {
		text := line[m[2]+at[0] : m[2]+at[1]]
		if v, err := ParseValue(text); err == nil {
			found = append(found, FoundValue{r, v, text, m[2] + at[0]})
		}
	}
	return found
}

// errorCodes returns the error code of a core: a number, or the list of error numbers of an Ascend
// 950.
func errorCodes(r Register, line string, m []int) []FoundValue {
	values, david := wholeNumbers(r, line, m), davidLine().MatchString(line)
	switch text := line[m[2]:m[3]]; {
	case strings.ContainsAny(text, "xX"):
		if david || coreLine().MatchString(line) || strings.TrimSpace(line[:m[0]]) == "" {
			return values
		}
	case !david && text == "0": // AIC_ERROR 0, see hexNumber
		if coreLine().MatchString(line) {
			return values
		}
	case david || coreID().MatchString(line):
		return errorNumbers(values)
	}
	return nil
}

// errorNumbers replaces error numbers by their bits; nil if one is no error number.
func errorNumbers(values []FoundValue) []FoundValue {
	for i := range values {
		v := &values[i]
		n := min(v.Value[0], globalNumbers)
		res, err := DecodeGlobal(int(n))
		if err != nil || v.Value != (Value{n}) {
			return nil
		}
		v.Register, v.Value = res.Register, res.Value
	}
	return values
}

// statusValues returns the status values of overflow records, in JSON and in text.
func (f *Finder) statusValues(line string) []FoundValue {
	var found []FoundValue
	for _, m := range jsonStatus().FindAllStringSubmatchIndex(line, -1) {
		unit := lastUnit(anyUnit(), line[:m[0]])
		if unit == None {
			unit = f.unit
		}
		found = append(found, wholeNumbers(unit, line, m)...)
	}
	for _, m := range textStatus().FindAllStringSubmatchIndex(line, -1) {
		if isRecordStatus(line, m[0], m[3]) {
			found = append(found, wholeNumbers(lastUnit(anyUnit(), line[:m[0]]), line, m)...)
		}
	}
	return found
}

// isRecordStatus reports whether a status belongs to an overflow record, not to a process or a
// request. The word and its number occupy line[start:end].
func isRecordStatus(line string, start, end int) bool {
	head := strings.TrimSpace(line[:start])
	tail := strings.TrimSpace(line[end:])
	switch {
	case strings.Trim(head, "-*{[") == "": // at the beginning of the line
		return tail == "" || strings.ContainsAny(tail[:1], ",;(){}]#")
	case unitBefore().MatchString(head):
		return true
	}
	return strings.ContainsAny(head[len(head)-1:], ",;([{|") && (recordLine().MatchString(line) || anyUnit().MatchString(head))
}

// endsNumber reports whether a number ends before rest, rather than being a part of a version, a time, a path or a
// fraction.
func endsNumber(rest string) bool {
	switch {
	case rest == "":
		return true
	case rest[0] == '%':
		return false
	case strings.IndexByte(".:-/+", rest[0]) < 0:
		return true
	}
	return len(rest) == 1 || hexDigit(rune(rest[1])) > 9
}

// unitRegisters maps prefixes of unit names, without spaces, to registers.
var unitRegisters = []struct {
	prefix   string
	register Register
}{
	{"aicpu", AICPU},
	{"ai", AICore},
	{"dha", DHA},
	{"l2", L2},
	{"sdma", SDMA},
}

// lastUnit returns the last unit named in the text, None if there is none.
func lastUnit(pattern *regexp.Regexp, text string) Register {
	all := pattern.FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		return None
	}
	name := strings.ToLower(all[len(all)-1][1])
	for _, u := range unitRegisters {
		if strings.HasPrefix(name, u.prefix) {
			return u.register
		}
	}
	return None
}

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

// ParseErrcode parses errcode:(a, b, c), the form of logs, with three or four words, decimal or
// hexadecimal. The part before the parenthesis is optional.
func ParseErrcode(text string) (Value, error) {
	v, msg := parseErrcode(text)
	if !msg.IsZero() {
		return Value{}, &ParseError{text, msg}
	}
	return v, nil
}

func parseErrcode(text string) (v Value, msg lang.Sentence) {
	key, list, found := strings.Cut(strings.TrimSpace(text), "(")
	key = strings.TrimSpace(strings.TrimRight(strings.TrimSpace(key), ":="))
	list, closed := strings.CutSuffix(list, ")")
	if !found || !closed || key != "" && !strings.EqualFold(key, "errcode") {
		return Value{}, lang.Say("wanted errcode:(a, b, c)")
	}
	parts := strings.Split(list, ",")
	if len(parts) != 3 && len(parts) != 4 {
		return Value{}, lang.Say("number of words is %d, wanted 3 or 4", len(parts))
	}
	var words [4]uint64
	for i, part := range parts {
		w, msg := parseValue(strings.TrimSpace(part))
		if msg.IsZero() && w != (Value{w[0]}) {
			msg = lang.Say("has more than 64 bits")
		}
		if !msg.IsZero() {
			return Value{}, lang.Say("word %d: %s", i, msg)
		}
		words[i] = w[0]
	}
	return AssembleErrcode(words[0], words[1], words[2], words[3]), lang.Sentence{}
}
