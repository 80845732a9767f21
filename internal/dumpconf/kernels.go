package dumpconf

import "strings"

// KernelKind says how MindSpore understands an entry of "kernels".
type KernelKind int

// The kinds of entries.
const (
	KernelType  KernelKind = iota // operator type, a part of it, in any case
	KernelName                    // full scope name, exactly
	KernelRegex                   // regular expression for the full scope name
)

var kernelKindNames = [...]Text{{EN: "an operator type", ZH: "算子类型"}, {EN: "a full name", ZH: "算子全名"}, {EN: "a regular expression", ZH: "正则表达式"}}

// String names the kind with its article.
func (k KernelKind) String() string { return kernelKindNames[k].EN }

// Text names the kind in both languages.
func (k KernelKind) Text() Text { return kernelKindNames[k] }

const regexPrefix = "name-regex("

// Kernel is an entry of "kernels" as MindSpore understands it.
type Kernel struct {
	Text string // as written
	Kind KernelKind
	// Pattern is what is compared: the entry without spaces and quotes, of a
	// regular expression what stands in the brackets.
	Pattern string
	// Unclosed says that the entry starts like a regular expression but has
	// no closing bracket, and so is none.
	Unclosed bool
}

// ParseKernel classifies an entry. MindSpore removes quotes and spaces first.
func ParseKernel(text string) Kernel {
	k := Kernel{Text: text, Pattern: strings.NewReplacer(" ", "", `"`, "").Replace(text)}
	inner, isRegex := strings.CutPrefix(k.Pattern, regexPrefix)
	if isRegex {
		if re, closed := strings.CutSuffix(inner, ")"); closed {
			k.Kind, k.Pattern = KernelRegex, re
			return k
		}
		k.Unclosed = true
	}
	if strings.Contains(k.Pattern, "/") || strings.Contains(k.Pattern, "-op") {
		k.Kind = KernelName
	}
	return k
}
