package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dumptool/internal/dumpconf"
)

// profileFlag is the flag for a key that some profiles have. It has the
// methods of a flag value.
type profileFlag struct {
	name     string
	profiles []string
	abouts   []fieldAbout
	kind     dumpconf.KeyType
	values   []string // that the key can have; nil for any
	given    []string
}

// fieldAbout is what a key is for in some profiles.
type fieldAbout struct {
	text     string
	profiles []string
}

// isList reports whether the flag may be given more than once.
func (f *profileFlag) isList() bool {
	return f.kind == dumpconf.TypeStrings || f.kind == dumpconf.TypeUints
}

// String implements the value of a flag.
func (f *profileFlag) String() string { return strings.Join(f.given, ",") }

// Set implements the value of a flag.
func (f *profileFlag) Set(text string) error {
	if !f.isList() {
		f.given = nil
	}
	f.given = append(f.given, text)
	return nil
}

// Type implements the value of a flag: it names the value in the help.
func (f *profileFlag) Type() string {
	if all := strings.Join(f.values, "|"); all != "" && len(all) <= 24 {
		return all
	}
	switch f.kind {
	case dumpconf.TypeBool:
		return "bool"
	case dumpconf.TypeUint:
		return "N"
	case dumpconf.TypeUints:
		return "N,..."
	case dumpconf.TypeStrings:
		return "NAME,..."
	}
	return "TEXT"
}

// profileList is the value of a flag that settings may give as a list.
type profileList struct{ *profileFlag }

// Append implements pflag.SliceValue.
func (l profileList) Append(text string) error { return l.Set(text) }

// Replace implements pflag.SliceValue.
func (l profileList) Replace(texts []string) error {
	l.given = texts
	return nil
}

// GetSlice implements pflag.SliceValue.
func (l profileList) GetSlice() []string { return l.given }

// addFields adds the flags for the keys of all profiles.
func (o *configNewOptions) addFields(cmd *cobra.Command) {
	for _, p := range o.profiles {
		for i := range p.Fields {
			o.addField(p.Name, &p.Fields[i])
		}
	}
	for _, f := range o.fields {
		if f.isList() {
			cmd.Flags().Var(profileList{f}, f.name, o.usage(f))
		} else {
			cmd.Flags().Var(f, f.name, o.usage(f))
		}
		values := f.values
		if f.kind == dumpconf.TypeBool {
			values = []string{"true", "false"}
			cmd.Flag(f.name).NoOptDefVal = "true"
		}
		completeValues(cmd, f.name, values)
	}
}

// addField adds a key of a profile.
func (o *configNewOptions) addField(profile string, field *dumpconf.Field) {
	f := o.field(field.Flag)
	if f == nil {
		f = &profileFlag{name: field.Flag, kind: field.Type}
		o.fields = append(o.fields, f)
	}
	f.profiles = append(f.profiles, profile)
	if field.Type != dumpconf.TypeBool {
		f.values = append(f.values, missing(field.Values, f.values)...)
	}
	about := field.About.EN
	i := slices.IndexFunc(f.abouts, func(a fieldAbout) bool { return a.text == about })
	if i < 0 {
		i = len(f.abouts)
		f.abouts = append(f.abouts, fieldAbout{text: about})
	}
	f.abouts[i].profiles = append(f.abouts[i].profiles, profile)
}

// field returns the flag of a name, or nil.
func (o *configNewOptions) field(name string) *profileFlag {
	for _, f := range o.fields {
		if f.name == name {
			return f
		}
	}
	return nil
}

// usage says what a flag is for.
func (o *configNewOptions) usage(f *profileFlag) string {
	var parts []string
	for _, a := range f.abouts {
		parts = append(parts, fmt.Sprintf("%s (%s)", a.text, o.shortProfiles(a.profiles)))
	}
	return strings.Join(parts, "; ")
}

// shortProfiles lists profiles; those of MindSpore have one name together.
func (o *configNewOptions) shortProfiles(names []string) string {
	other := func(name string) bool { return !strings.HasPrefix(name, "ms-") }
	ofMindSpore := slices.DeleteFunc(o.profileNames(), other)
	if len(missing(ofMindSpore, names)) == 0 {
		names = append(missing(names, ofMindSpore), "ms-*")
	}
	return strings.Join(names, ", ")
}

// missing returns the values that are not among others.
func missing(values, others []string) []string {
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return slices.Contains(others, v) })
}

// values returns what the flags say about a profile. A flag that it does not
// have is a mistake on the command line, and left alone in settings, which are
// for all profiles.
func (o *configNewOptions) values(flags *pflag.FlagSet, p *dumpconf.Profile) (dumpconf.Values, error) {
	values := dumpconf.Values{}
	for i := range p.Fields {
		field := &p.Fields[i]
		if !flags.Lookup(field.Flag).Changed {
			continue
		}
		for _, text := range o.field(field.Flag).given {
			values[field.Key] = append(values[field.Key], field.Split(text)...)
		}
		if len(values[field.Key]) == 0 {
			return nil, usagef("--%s is empty; leave it out for the default", field.Flag)
		}
	}
	var err error
	flags.Visit(func(f *pflag.Flag) {
		field := o.field(f.Name)
		if err == nil && field != nil && !slices.Contains(field.profiles, p.Name) {
			err = usagef("profile %s has no --%s; it is for %s", p.Name, f.Name, strings.Join(field.profiles, ", "))
		}
	})
	return values, err
}

// profileTable returns the part of the help that lists the profiles.
func (o *configNewOptions) profileTable() string {
	const indent, columns = 16, 80
	var b strings.Builder
	for _, p := range o.profiles {
		b.WriteString(wrapWords(fmt.Sprintf("  %-*s%s", indent-2, p.Name, p.About.EN), columns, indent))
	}
	return b.String()
}

func (o *configNewOptions) profileNames() []string {
	var names []string
	for _, p := range o.profiles {
		names = append(names, p.Name)
	}
	return names
}
