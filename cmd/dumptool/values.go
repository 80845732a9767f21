package main

import (
	"cmp"
	"encoding/csv"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/lists"
	"dumptool/internal/sidefile"
	"dumptool/internal/tensor"
)

// value is the value of a flag, parsed into an option.
type value[T any] struct {
	to   *T
	kind string
	read func(text string) (T, error)
	// show formats the option; nil: the given text is shown.
	show      func(T) string
	givenText string
	known     []string
	// bare is the value if the flag has none; empty for a flag that needs a value.
	bare string
}

// makeOptional makes the value of a flag optional.
func makeOptional[T any](word string, v *value[T]) *value[T] {
	v.bare = word
	return v
}

// defaultValue returns the value of a flag that was given without one.
func (v *value[T]) defaultValue() string {
	if v.kind == "bool" {
		return "true"
	}
	return v.bare
}

// Set implements pflag.Value.
func (v *value[T]) Set(text string) error {
	read, err := v.read(text)
	if err == nil {
		*v.to, v.givenText = read, text
	}
	return err
}

// String implements pflag.Value.
func (v *value[T]) String() string {
	if v.show != nil {
		return v.show(*v.to)
	}
	return v.givenText
}

// Type implements pflag.Value.
func (v *value[T]) Type() string { return v.kind }

// completions returns the completions for the shell.
func (v *value[T]) completions() []string { return v.known }

// valueError is an error in the value of a flag, or in one element of it.
type valueError struct {
	element string
	err     error
	// hidesValue: the message does not quote the value. gone: the value was removed, and the message names its replacement.
	hidesValue, isRemoved bool
}

func (e *valueError) Error() string { return e.err.Error() }
func (e *valueError) Unwrap() error { return e.err }

// wantf returns an error that says which values are valid.
func wantf(format string, args ...any) error {
	return &valueError{err: lang.Errorf(format, args...)}
}

// invalidValue words the error about a value for the command line.
func invalidValue(f *pflag.Flag, text string, err error) error {
	wrong, ok := errors.AsType[*valueError](err)
	switch {
	case !ok:
		return nil
	case wrong.hidesValue:
		return asUsage(lang.Errorf("%s: %v", flagText(f), wrong))
	case wrong.element != "":
		text = wrong.element
	}
	err = lang.Errorf("%s %s: %v", flagText(f), text, wrong)
	if wrong.isRemoved {
		return &codedError{exitUsage, err}
	}
	return asUsage(err)
}

// flagText renders a flag as people write it.
func flagText(f *pflag.Flag) string {
	if f.Shorthand != "" {
		return "-" + f.Shorthand
	}
	return "--" + f.Name
}

// textValue accepts any text.
func textValue[S ~string](to *S) *value[S] {
	return &value[S]{to: to, kind: "string", read: func(text string) (S, error) { return S(text), nil }, show: func(s S) string { return string(s) }}
}

// boolSwitch is a switch.
func boolSwitch(to *bool) *value[bool] {
	return &value[bool]{to: to, kind: "bool", read: strconv.ParseBool, show: strconv.FormatBool}
}

// invertedSwitch is a switch with the opposite meaning of its option.
func invertedSwitch(to *bool) *value[bool] {
	return &value[bool]{to: to, kind: "bool", show: func(b bool) string { return strconv.FormatBool(!b) },
		read: func(text string) (bool, error) { b, err := strconv.ParseBool(text); return !b, err }}
}

// integerValue is an integer from least to most.
func integerValue[N int | int64 | uint64](to *N, least, most N, want string) *value[N] {
	return &value[N]{to: to, kind: "int", show: func(n N) string { return strconv.FormatInt(int64(n), 10) }, read: func(text string) (N, error) {
		n, err := strconv.ParseInt(text, 0, 64)
		if err != nil || n < int64(least) || n > int64(most) {
			return 0, wantf("%v", lang.Say(want))
		}
		return N(n), nil
	}}
}

// countValue is an integer from 0.
func countValue[N int | int64](to *N) *value[N] {
	return integerValue(to, 0, math.MaxInt32, "want a number from 0")
}

// integerOrAll is an integer from least, or all.
func integerOrAll(to *int, least, all int) *value[int] {
	number := integerValue(to, least, math.MaxInt, "")
	return &value[int]{to: to, kind: "string",
		read: func(text string) (int, error) {
			if strings.EqualFold(text, "all") {
				return all, nil
			}
			n, err := number.read(text)
			if err != nil {
				return 0, wantf("want a number from %d, or all", least)
			}
			return n, nil
		},
		show: func(n int) string {
			if n == all {
				return "all"
			}
			return number.show(n)
		}}
}

// decimalValue is a number that satisfies the predicate fine.
func decimalValue(to *float64, fine func(float64) bool, want string) *value[float64] {
	return &value[float64]{to: to, kind: "float", show: showDecimal, read: func(text string) (float64, error) {
		v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || !fine(v) {
			return 0, wantf("%v", lang.Say(want))
		}
		return v, nil
	}}
}

// shareValue is a share from 0 to 1, or a percentage.
func shareValue(to *float64) *value[float64] {
	v := decimalValue(to, func(x float64) bool { return x >= 0 && x <= 1 }, "want a share from 0 to 1 (or a percentage up to 100%)")
	read := v.read
	v.read = func(text string) (float64, error) {
		if text == "all" {
			text = "100%"
		}
		if share, percent := parseShare(text); percent {
			text = showDecimal(share)
		}
		return read(text)
	}
	return v
}

// parseShare converts a percentage to a share of 1.
func parseShare(text string) (share float64, percent bool) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	v, err := strconv.ParseFloat(number, 64)
	return v / 100, percent && err == nil
}

func showDecimal(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// optionalNumber is an optional number from least: nil if empty.
func optionalNumber(to **float64, least float64) *value[*float64] {
	return &value[*float64]{to: to, kind: "float",
		read: func(text string) (*float64, error) {
			v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			share, percent := parseShare(text)
			switch {
			case percent:
				return nil, lang.Errorf("want a number, such as %[1]s for %[2]s", showDecimal(share), text)
			case err == nil && !math.IsNaN(v) && !math.IsInf(v, 0) && v >= least:
				return &v, nil
			case math.IsInf(least, -1):
				return nil, lang.Errorf("want a number")
			}
			return nil, lang.Errorf("want a number from %g", least)
		},
		show: func(v *float64) string {
			if v == nil {
				return ""
			}
			return showDecimal(*v)
		}}
}

// durationValue is a time span.
func durationValue(to *time.Duration) *value[time.Duration] {
	return &value[time.Duration]{to: to, kind: "duration", read: time.ParseDuration, show: func(d time.Duration) string {
		if d == 0 {
			return ""
		}
		return d.String()
	}}
}

// namedValue chooses an option by its name, in any letter case and with _ for -. The default has no name
// if it is not in options.
func namedValue[T comparable](to *T, known []string, options ...T) *value[T] {
	v := &value[T]{to: to, kind: "string", known: known}
	if i := slices.Index(options, *to); i >= 0 {
		v.givenText = known[i]
	}
	none, byDefault := *to, v.givenText
	v.read = func(text string) (T, error) {
		if text == "" && byDefault == "" {
			return none, nil
		}
		name, err := matchKnown("", text, known)
		if err != nil {
			return none, wantf("want one of %s", strings.Join(known, ", "))
		}
		return options[slices.Index(known, name)], nil
	}
	return v
}

// choice is one of the known values.
func choice[S ~string](to *S, known []S) *value[S] { return namedValue(to, toStrings(known), known...) }

// matchKnown finds a known value, in any letter case and with _ for -.
func matchKnown[S ~string](flag, value string, known []S) (S, error) {
	plain := strings.ReplaceAll(strings.ToLower(value), "_", "-")
	for _, k := range known {
		if strings.ReplaceAll(string(k), "_", "-") == plain {
			return k, nil
		}
	}
	return "", usagef("%s %s: want one of %s", flag, value, strings.Join(toStrings(known), ", "))
}

// toStrings converts names of any string type to strings.
func toStrings[S ~string](all []S) []string {
	return lists.Map(all, func(s S) string { return string(s) })
}

// parsedValue is a value that parse reads; empty gives the zero value. An error message has the flag
// only, without the value, unless it is a valueError.
func parsedValue[T any](to *T, parse func(string) (T, error)) *value[T] {
	return &value[T]{to: to, kind: "string", read: func(text string) (v T, err error) {
		if text == "" {
			return v, nil
		}
		v, err = parse(text)
		if _, said := errors.AsType[*valueError](err); err != nil && !said {
			err = &valueError{err: err, hidesValue: true}
		}
		return v, err
	}}
}

// roundChoice reads values of a coordinate.
func roundChoice(to *dumpdir.Choice, parse func(string) (dumpdir.Choice, error)) *value[dumpdir.Choice] {
	return &value[dumpdir.Choice]{to: to, kind: "list", read: parse}
}

// layoutName reads the name of a format; empty gives nil.
func layoutName(to **tensor.Format) *value[*tensor.Format] {
	return parsedValue(to, func(name string) (*tensor.Format, error) {
		f, ok := tensor.ParseFormat(name)
		if !ok {
			return nil, wantf("no such format, want one such as NCHW, NHWC, HWCN, NCDHW, ND, NC1HWC0, FRACTAL_Z or FRACTAL_NZ")
		}
		return &f, nil
	})
}

// axisOrders lists the completions for axis orders.
var axisOrders = []string{"NCHW", "NHWC", "HWCN", "CHWN", "NCDHW", "NDHWC", "DHWCN", "DHWNC"}

// layoutsByGroup lists the completions for layouts: axis orders of hosts first, then the others.
func layoutsByGroup() []string {
	var hosts, others []string
	for _, name := range tensor.FormatNames() {
		if slices.Contains(axisOrders, name) || name == "ND" {
			hosts = append(hosts, name+"\thost layout")
		} else {
			others = append(others, name+"\tdevice layout or other")
		}
	}
	return append(hosts, others...)
}

// axisOrder is a format; completions are the host axis orders and others.
func axisOrder(to **tensor.Format, others ...string) *value[*tensor.Format] {
	v := layoutName(to)
	v.known = append(others, axisOrders...)
	return v
}

// shortTypes maps other names of element types.
var shortTypes = map[string]tensor.DType{
	"fp16": tensor.Float16, "half": tensor.Float16, "bf16": tensor.BFloat16, "fp32": tensor.Float32, "float": tensor.Float32,
	"fp64": tensor.Float64, "double": tensor.Float64,
}

// elementType reads the name of an element type; empty gives Undefined.
func elementType(to *tensor.DType) *value[tensor.DType] {
	known := []string{"float16", "bfloat16", "float32", "float64", "int8", "uint8", "int16", "int32", "int64", "bool"}
	v := parsedValue(to, func(name string) (tensor.DType, error) {
		d, ok := shortTypes[strings.ToLower(name)]
		if !ok {
			d, ok = tensor.ParseDType(name)
		}
		if _, err := tensor.NewDecoder(d); !ok || err != nil {
			return tensor.Undefined, wantf("want an element type, such as float16, bfloat16, float32 or int8")
		}
		return d, nil
	})
	v.known = known
	return v
}

// numbersForm matches integers separated by commas.
var numbersForm = lang.Pattern(`^[0-9]+(,[0-9]+)*$`)

// newBothSides reads values of a coordinate for both sides, or REF:NPU. A flag for one side overrides it,
// wherever it stands.
type bothSides struct {
	value[string]
	each [2]*value[dumpdir.Choice]
}

func newBothSides(ref, npu *value[dumpdir.Choice]) *bothSides {
	s := &bothSides{each: [2]*value[dumpdir.Choice]{ref, npu}}
	s.value = value[string]{to: new(string), kind: "list", read: func(text string) (string, error) {
		parts := []string{text, text}
		if left, right, parted := strings.Cut(text, ":"); parted {
			parts = []string{left, right}
		}
		var chosen [2]dumpdir.Choice
		for i, side := range s.each {
			var err error
			if chosen[i], err = side.read(parts[i]); err != nil {
				return "", err
			}
		}
		for i, side := range s.each {
			if side.givenText == "" {
				*side.to = chosen[i]
			}
		}
		return text, nil
	}}
	return s
}

// spelling is a flag that sets other flags.
type spelling struct {
	// flags is the set that holds the flag and the others.
	flags *pflag.FlagSet
	// others returns the names of the flags that it sets.
	others func() []string
	// read returns the flags that a text sets, and their values.
	read  func(text string) (names, values []string, err error)
	texts []string
}

// Set implements pflag.Value.
func (s *spelling) Set(text string) error {
	names, values, err := s.read(text)
	for i := 0; i < len(names) && err == nil; i++ {
		err = s.flags.Set(names[i], values[i])
		if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
			err = &valueError{element: text, err: invalid.Unwrap()}
		}
	}
	if err == nil {
		s.texts = append(s.texts, text)
	}
	return err
}

// String implements pflag.Value.
func (s *spelling) String() string { return strings.Join(s.texts, ",") }

// Type implements pflag.Value.
func (s *spelling) Type() string { return "stringSlice" }

// list is a flag that may be repeated, or whose value may have several elements.
type list[T any] struct {
	to   *T
	read func(texts []string) (T, error)
	// commas separate elements of a value.
	commas bool
	// kind names the type in help if the usage does not name it.
	kind  string
	given bool
	texts []string
	known []string
}

// Set implements pflag.Value. The first value replaces the default.
func (l *list[T]) Set(text string) error {
	elements := []string{text}
	if l.commas {
		var err error
		if elements, err = csv.NewReader(strings.NewReader(text)).Read(); err != nil && text != "" {
			return err
		}
	}
	if l.given {
		elements = slices.Concat(l.texts, elements)
	}
	l.given = true
	return l.Replace(elements)
}

// Replace implements pflag.SliceValue.
func (l *list[T]) Replace(texts []string) error {
	read, err := l.read(texts)
	if err == nil {
		*l.to, l.texts = read, texts
	}
	return err
}

// words returns values that set the flag to the same list again.
func (l *list[T]) words() []string {
	if !l.commas {
		return l.texts
	}
	text := l.String()
	return []string{strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")}
}

// Append implements pflag.SliceValue.
func (l *list[T]) Append(text string) error { return l.Replace(slices.Concat(l.texts, []string{text})) }

// GetSlice implements pflag.SliceValue.
func (l *list[T]) GetSlice() []string { return l.texts }

// String implements pflag.Value, in the form of pflag's own lists.
func (l *list[T]) String() string {
	if len(l.texts) == 0 {
		return ""
	}
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write(l.texts) // writes to memory
	w.Flush()
	return "[" + strings.TrimSuffix(b.String(), "\n") + "]"
}

// Type implements pflag.Value.
func (l *list[T]) Type() string { return cmp.Or(l.kind, "stringSlice") }

// completions returns the completions for the shell.
func (l *list[T]) completions() []string { return l.known }

// textList accepts any texts.
func textList(to *[]string) *list[[]string] {
	return &list[[]string]{to: to, texts: *to, read: func(texts []string) ([]string, error) { return texts, nil }}
}

// listOfTexts accepts texts, also several in one value with commas between them.
func listOfTexts(to *[]string, known []string) *list[[]string] {
	l := textList(to)
	l.commas, l.known = true, known
	return l
}

// elementList reads elements one by one, separated by commas. Empty elements are skipped.
func elementList[E any](to *[]E, known, byDefault []string, read func(string) (E, error)) *list[[]E] {
	l := &list[[]E]{to: to, known: known, commas: true, read: func(texts []string) (all []E, err error) {
		for _, text := range texts {
			if text = strings.TrimSpace(text); text == "" {
				continue
			}
			e, err := read(text)
			if err != nil {
				return nil, &valueError{element: text, err: err}
			}
			all = append(all, e)
		}
		return all, nil
	}}
	_ = l.Replace(byDefault) // the program's own default
	return l
}

// choices are several of the known values.
func choices[S ~string](to *[]S, known, byDefault []S) *list[[]S] {
	return elementList(to, toStrings(known), toStrings(byDefault), choice(new(S), known).read)
}

// nameLists reads names separated by commas, or a list in Python's syntax.
func nameLists(to *[]string) *list[[]string] {
	return &list[[]string]{to: to, read: func(texts []string) ([]string, error) {
		names, err := sidefile.ParseList(texts...)
		if err != nil {
			return nil, &valueError{err: err, hidesValue: true}
		}
		return names, nil
	}}
}

// namesOf makes a set from lists of names and more; nil if there are none.
func namesOf(lists []string, more ...string) (*dumpdir.NameSet, error) {
	if len(lists)+len(more) == 0 {
		return nil, nil
	}
	names, err := sidefile.ParseList(lists...)
	var set *dumpdir.NameSet
	if err == nil {
		set, err = dumpdir.NewNameSet(append(names, more...))
	}
	if err != nil {
		return nil, &valueError{err: err, hidesValue: true}
	}
	return set, nil
}

// keyedValues reads OP=VALUE and maps operators to values. parse reads one entry.
func keyedValues[V any](to *map[string]V, parse func(text string) (key string, v V, err error)) *list[map[string]V] {
	return &list[map[string]V]{to: to, read: func(texts []string) (map[string]V, error) {
		all := map[string]V{}
		for _, text := range texts {
			key, v, err := parse(text)
			if err != nil {
				return nil, &valueError{element: text, err: err}
			}
			all[key] = v
		}
		return all, nil
	}}
}
