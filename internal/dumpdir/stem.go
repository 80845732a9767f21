package dumpdir

import (
	"path"
	"slices"
	"strings"
)

// Stem is the beginning or end, without extension, of the names of one side's files in a folder
// that holds both sides: ref_ and npu_, or .golden and .npu. The zero value matches all files.
type Stem struct{ Own, Other string }

// separators may stand between a stem and the rest of a name.
const separators = "_-. @+"

// Cut returns a name without the stem; ok is false for files of the other side and for unrelated
// files.
func (s Stem) Cut(name string) (rest string, ok bool) {
	if s.Own == "" {
		return name, true
	}
	if rest, ok = cutStem(name, s.Own); !ok {
		return name, false
	}
	// If one stem is part of the other, the longer one decides.
	if _, both := cutStem(name, s.Other); both && len(s.Other) > len(s.Own) {
		return name, false
	}
	return rest, true
}

// cutStem returns a file name without a text at the beginning or at the end of its stem, and without
// separators there.
func cutStem(name, text string) (rest string, ok bool) {
	ext := path.Ext(name)
	stem := strings.TrimSuffix(name, ext)
	if rest, ok = strings.CutPrefix(stem, text); ok {
		rest = strings.TrimLeft(rest, separators)
	} else if rest, ok = strings.CutSuffix(stem, text); ok {
		rest = strings.TrimRight(rest, separators)
	}
	return rest + ext, ok && rest != ""
}

// SplitStems lists the stems that divide names of files into n sides with equal remainders: at most
// one list of prefixes and one of suffixes.
func SplitStems(names []string, n int) (all [][]string) {
	stems, reversed := make([]string, len(names)), make([]string, len(names))
	for i, name := range names {
		stems[i] = strings.TrimSuffix(name, path.Ext(name))
		reversed[i] = reverseText(stems[i])
	}
	if split := splitByPrefix(stems, n); split != nil {
		all = append(all, split)
	}
	if split := splitByPrefix(reversed, n); split != nil {
		for i, text := range split {
			split[i] = reverseText(text)
		}
		slices.Sort(split)
		all = append(all, split)
	}
	return all
}

// splitByPrefix returns the shortest prefixes of n equal parts of stems that leave equal
// remainders; nil for none. It sorts the stems.
func splitByPrefix(stems []string, n int) []string {
	size := len(stems) / n
	if len(stems)%n != 0 || size == 0 {
		return nil
	}
	slices.Sort(stems)
	for i := 1; i < len(stems[0]); i++ {
		a := stems[0][:i]
		if strings.IndexByte(separators, a[i-1]) < 0 || !strings.HasPrefix(stems[size-1], a) || strings.HasPrefix(stems[size], a) {
			continue
		}
		var prefixes []string
		same := true
		for k, stem := range stems {
			if k%size == 0 {
				prefixes = append(prefixes, strings.TrimSuffix(stem, stems[0][i:]))
			}
			same = same && stem == prefixes[k/size]+stems[k%size][i:]
		}
		if same && !slices.Contains(prefixes, "") {
			return prefixes
		}
	}
	return nil
}

func reverseText(text string) string {
	b := []byte(text)
	slices.Reverse(b)
	return string(b)
}
