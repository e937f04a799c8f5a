//! How a vocabulary is written down: one table per condition type, one entry per reason.

/// Declares everything that one condition type of one kind can say, as an enum that implements
/// [`Reason`](crate::Reason). The enum is `pub`, so the kind must be, too.
///
/// An entry is `Status Reason origin "since" { meaning, investigate, resolve }`, with `was [..]` before the brace for former names.
/// `Type is warning for Kind` makes it a warning that the condition is True. `repeats` lists reasons that have their texts in another type of the kind.
///
/// ```
/// use conditions::{conditions, kstatus, ConditionSet, Kind, Moment, Reads, Severity, Vocabulary};
///
/// pub enum Teapot {}
///
/// conditions! {
///     /// The tea can be drunk.
///     Ready for Teapot {
///         True Brewed contract "0.1.0" {
///             meaning: "The tea has drawn for as long as it should.",
///             investigate: ["kubectl get teapot -n {namespace} {name}"],
///             resolve: "Nothing to do: drink it.",
///         }
///     }
///     repeats { False NoWater of Blocked }
/// }
///
/// conditions! {
///     /// Brewing cannot start.
///     Blocked is warning for Teapot {
///         True NoWater contract "0.1.0" was ["Dry"] {
///             meaning: "The pot is empty.",
///             investigate: ["kubectl describe teapot -n {namespace} {name}"],
///             resolve: "Fill it.",
///         }
///         False NotBlocked extension "0.1.0" {
///             meaning: "Nothing stands in the way.",
///             investigate: ["kubectl describe teapot -n {namespace} {name}"],
///             resolve: "Nothing to do.",
///         }
///     }
/// }
///
/// impl Kind for Teapot {
///     const VOCABULARY: &'static Vocabulary = &Vocabulary {
///         system: "kitchen",
///         group: "kitchen.example.com",
///         kind: "Teapot",
///         plural: "teapots",
///         short_names: &["pot"],
///         investigate: &["kubectl describe teapot -n {namespace} {name}"],
///         types: &[Ready::TABLE, Blocked::TABLE],
///         reads: &[Reads::Stalled(Blocked::NoWater.entry())],
///         unobserved: &kstatus::NOT_YET_OBSERVED,
///     };
/// }
///
/// let at = Moment { generation: 1, now: "2026-01-01T12:00:00Z".parse().unwrap() };
/// let mut conditions = ConditionSet::<Teapot>::new();
/// conditions.set(Ready::NoWater, "0 ml", at);
/// conditions.set(Blocked::NoWater, "0 ml", at);
/// conditions.project(at);
/// assert_eq!(conditions.get("Stalled").unwrap().reason, "NoWater");
/// assert_eq!(Teapot::VOCABULARY.severity("Blocked"), Severity::Warning);
/// assert_eq!(Teapot::VOCABULARY.severity("Ready"), Severity::Normal);
/// ```
///
/// What does not compile: an entry that the API server would refuse or that explains nothing ([`Entry::checked`]), and a
/// table that the kind's vocabulary does not list. `tests/does_not_compile` of `vworkspace-api` shows each.
///
/// [`Entry::checked`]: crate::Entry::checked
#[macro_export]
macro_rules! conditions {
    (
        $(#[doc = $about:literal])+
        $Type:ident $(is $severity:ident)? for $Kind:ty {
            $(
                $status:ident $Reason:ident $origin:ident $since:literal $(was [$($was:literal),+])? {
                    meaning: $meaning:literal,
                    investigate: [$($investigate:expr),+ $(,)?],
                    resolve: $resolve:literal $(,)?
                }
            )*
        }
        $(repeats { $($again_status:ident $Again:ident of $Source:ident),+ $(,)? })?
    ) => {
        $(#[doc = $about])+
        #[allow(clippy::enum_variant_names)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $Type {
            $(
                #[doc = concat!(stringify!($status), ": ", $meaning)]
                $Reason,
            )*
            $($(
                #[doc = concat!(stringify!($again_status), ": repeats the reason of `", stringify!($Source), "`.")]
                $Again,
            )+)?
        }

        impl $Type {
            /// The type and everything it can say.
            pub const TABLE: $crate::ConditionType = $crate::ConditionType {
                name: stringify!($Type),
                about: concat!($($about),+),
                severity: $crate::conditions!(@severity $($severity)?),
                entries: &[$(*Self::$Reason.entry(),)* $($(*Self::$Again.entry(),)+)?],
            };

            /// Status, reason and texts, also in constants.
            #[must_use]
            pub const fn entry(self) -> &'static $crate::Entry {
                match self {
                    $(
                        Self::$Reason => const {
                            &$crate::Entry {
                                type_: stringify!($Type),
                                status: $crate::Status::$status,
                                reason: stringify!($Reason),
                                meaning: $meaning,
                                investigate: &[$($investigate),+],
                                resolve: $resolve,
                                since: $since,
                                origin: $crate::conditions!(@origin $origin),
                                was: &[$($($was),+)?],
                                repeats: None,
                            }
                            .checked()
                        },
                    )*
                    $($(
                        Self::$Again => const {
                            &$Source::$Again.entry().repeated(stringify!($Type), $crate::Status::$again_status)
                        },
                    )+)?
                }
            }
        }

        const _: () = assert!(
            <$Kind as $crate::Kind>::VOCABULARY.declares(&$Type::TABLE),
            concat!("the vocabulary of ", stringify!($Kind), " does not list the table ", stringify!($Type)),
        );

        impl $crate::MadeWithConditions for $Type {}

        impl $crate::Reason for $Type {
            type Kind = $Kind;
            const TYPE: $crate::ConditionType = Self::TABLE;
            const ALL: &'static [Self] = &[$(Self::$Reason,)* $($(Self::$Again,)+)?];

            fn entry(self) -> &'static $crate::Entry {
                self.entry()
            }
        }
    };
    (@severity) => { $crate::Severity::Normal };
    (@severity warning) => { $crate::Severity::Warning };
    (@origin contract) => { $crate::Origin::Contract };
    (@origin extension) => { $crate::Origin::Extension };
}
