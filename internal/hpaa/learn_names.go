package hpaa

import (
	"slices"
	"strings"
)

// templates are the templates of a name: the text before and behind the node, with
// every choice of roles for the numbers in it.
func templates(left, right []string) []string {
	slots := 0
	count := func(parts []string) {
		for _, part := range parts {
			if part == "" {
				slots++
			}
		}
	}
	count(left)
	count(right)
	extra := max(0, slots-maxTokens) // those at the beginning mean nothing
	var all []string
	var build func(k int, chosen []string)
	build = func(k int, chosen []string) {
		if k < slots {
			for _, role := range roles {
				name, _, _ := strings.Cut(role, ":")
				name = strings.Trim(name, "{}")
				if role != "{*}" && (k < extra || slices.ContainsFunc(chosen, func(c string) bool { return strings.HasPrefix(c, "{"+name) })) {
					continue
				}
				build(k+1, append(slices.Clone(chosen), role))
			}
			return
		}
		var text strings.Builder
		next := 0
		write := func(parts []string) {
			for _, part := range parts {
				if part == "" {
					part = chosen[next]
					next++
				}
				text.WriteString(part)
			}
		}
		write(left)
		text.WriteString("{node}")
		write(right)
		all = append(all, text.String())
	}
	build(0, nil)
	return all
}

// tokens splits a text at its numbers, for which empty strings stand: words of hex
// digits with a decimal one, and decimal digits at the end of words.
func tokens(text string) []string {
	var parts []string
	literal := ""
	for text != "" {
		n := 0
		for n < len(text) && isWord(text[n]) {
			n++
		}
		word := text[:n]
		if n == 0 {
			literal += strings.NewReplacer("{", "", "}", "").Replace(text[:1])
			text = text[1:]
			continue
		}
		text = text[n:]
		end := n
		switch hexWord := strings.Trim(word, "0123456789abcdefABCDEF") == ""; {
		case hexWord && strings.ContainsAny(word, "0123456789"):
			end = 0
		default:
			for end > 0 && word[end-1] >= '0' && word[end-1] <= '9' {
				end--
			}
		}
		literal += word[:end]
		if end < n {
			if literal != "" {
				parts = append(parts, literal)
			}
			parts, literal = append(parts, ""), ""
		}
	}
	if literal != "" {
		parts = append(parts, literal)
	}
	return parts
}

func isWord(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
