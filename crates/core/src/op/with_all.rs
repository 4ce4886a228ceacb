//! Enums that list their variants.

/// Defines an enum with a constant `ALL`: its variants, in the order of the definition.
#[macro_export]
#[doc(hidden)]
macro_rules! __with_all {
    (
        $(#[$attribute:meta])*
        $visible:vis enum $name:ident {
            $($(#[$of_variant:meta])* $variant:ident $(= $number:literal)?,)+
        }
    ) => {
        $(#[$attribute])*
        $visible enum $name {
            $($(#[$of_variant])* $variant $(= $number)?,)+
        }

        impl $name {
            /// All of them, in the order of their definition.
            $visible const ALL: [Self; [$($name::$variant),+].len()] = [$($name::$variant),+];
        }
    };
}
#[doc(inline)]
pub use __with_all as with_all;

#[cfg(test)]
mod tests {
    use super::with_all;

    with_all! {
        /// Numbered by the compiler.
        #[derive(Clone, Copy, Debug, PartialEq)]
        enum Plain {
            /// The first.
            One,
            /// The second.
            Two,
        }
    }

    with_all! {
        /// Numbered here.
        #[derive(Clone, Copy, Debug, Default)]
        enum Numbered {
            /// Not in the order of its number.
            #[default]
            Nine = 9,
            /// The last.
            Three = 3,
        }
    }

    #[test]
    fn all_variants_are_listed_in_their_order() {
        assert_eq!(Plain::ALL, [Plain::One, Plain::Two]);
        assert_eq!(Numbered::ALL.map(|it| it as u8), [9, 3]);
        assert_eq!(Numbered::default() as u8, 9);
    }
}
